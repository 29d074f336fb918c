/** SARIF 2.1.0, which code hosts show next to the lines of a change. */
import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Report } from '../analysis/report';
import type { Frame } from '../capture/records';
import type { Finding, Outcome, Rule } from '../check/findings';
import { ExitCode } from '../errors/errors';
import { version } from '../files/version';
import { jsonText } from '../terminal/printable';
import { relativeFile } from '../wording/position';

const RULES: { id: Rule; name: string; short: string; full: string }[] = [
  {
    id: 'leak',
    name: 'TensorLeak',
    short: 'Tensors made at this line accumulate.',
    full: 'After warm-up, the live tensors made at this line keep growing in number or bytes.',
  },
  {
    id: 'max-live',
    name: 'TooMuchAlive',
    short: 'More tensor bytes are live at the end than --max-live allows.',
    full: 'The bytes of all storages held by JavaScript tensors at the end of the capture, each storage counted once.',
  },
  {
    id: 'max-age',
    name: 'TensorTooOld',
    short: 'This line holds a tensor for longer than --max-age allows.',
    full: 'The age, at the end of the capture, of the oldest live tensor made at this line.',
  },
];

/** With `hasBaseline`, each result states whether it is new. */
export function renderSarif(report: Report, outcome: Outcome, folder: string, hasBaseline: boolean): string {
  const notifications = [
    ...outcome.notes.map((text) => ({ level: 'note', message: { text } })),
    ...(outcome.status === ExitCode.lostEvents || outcome.status === ExitCode.insufficient
      ? [{ level: 'error', message: { text: outcome.text } }]
      : []),
  ];
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'leak-audit',
            semanticVersion: version(),
            rules: RULES.map(({ id, name, short, full }) => ({
              id,
              name,
              shortDescription: { text: short },
              fullDescription: { text: full },
              defaultConfiguration: { level: 'error' },
            })),
          },
        },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            executionSuccessful: notifications.every(({ level }) => level !== 'error'),
            exitCode: outcome.status,
            toolExecutionNotifications: notifications,
          },
        ],
        results: outcome.findings.map((finding) => resultOf(finding, report, folder, hasBaseline)),
      },
    ],
  };
  return `${jsonText(log, 2)}\n`;
}

function resultOf(finding: Finding, report: Report, folder: string, hasBaseline: boolean): object {
  const { site, rule, message, excuse, grown } = finding;
  const known = excuse?.by === 'baseline';
  return {
    ruleId: rule,
    ruleIndex: RULES.findIndex(({ id }) => id === rule),
    level: 'error',
    message: { text: message },
    ...(site === null || site.line === 0 ? {} : { locations: [location(site, folder)] }),
    ...(site === null || site.stack.length === 0
      ? {}
      : {
          stacks: [
            { frames: site.stack.filter(({ line }) => line > 0).map((at) => ({ location: location(at, folder) })) },
          ],
        }),
    // By function if there is one, because line numbers change.
    partialFingerprints: { 'leakAuditSite/v1': fingerprint(finding, folder) },
    ...(hasBaseline ? { baselineState: known ? 'unchanged' : grown ? 'updated' : 'new' } : {}),
    suppressions: excuse?.by === 'suppression' ? [{ kind: 'external', justification: excuse.reason }] : [],
    properties: {
      growthBytesPerMinute: site?.growthBytesPerMinute ?? 0,
      growthTensorsPerMinute: site?.growthTensorsPerMinute ?? 0,
      liveBytes: site?.liveBytes ?? report.summary.liveBytes,
      ...(site?.confidence == null ? {} : { confidence: site.confidence }),
    },
  };
}

function location(at: Frame, folder: string): object {
  return {
    physicalLocation: {
      artifactLocation: artifact(at, folder),
      region: { startLine: at.line, ...(at.column > 0 ? { startColumn: at.column } : {}) },
    },
    ...(at.function === '' ? {} : { logicalLocations: [{ name: at.function, kind: 'function' }] }),
  };
}

function artifact(at: Frame, folder: string): object {
  const file = relativeFile(at, folder);
  if (path.isAbsolute(file)) return { uri: pathToFileURL(file).href };
  // A half of a surrogate pair, which a name may contain, has no encoding.
  const valid = Buffer.from(file).toString();
  return { uri: valid.split('/').map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' };
}

function fingerprint({ rule, site }: Finding, folder: string): string {
  const place = site === null ? '' : `${relativeFile(site, folder)}\n${site.function || site.line}`;
  return createHash('sha256').update(`${rule}\n${place}`).digest('hex').slice(0, 32);
}
