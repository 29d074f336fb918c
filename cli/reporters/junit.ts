/** JUnit XML for CI systems: a test case per site, and one for the whole program. */

import type { Report, SiteReport } from '../analysis/report';
import type { Finding, Outcome } from '../check/findings';
import { ExitCode } from '../errors/errors';
import { relativeFile } from '../wording/position';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
/** Characters that XML 1.0 cannot represent: most control characters, lone surrogates, two non-characters. */
const ILLEGAL = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

const escapeXml = (text: string): string =>
  text
    .replace(ILLEGAL, '\u{fffd}')
    .replace(/[&<>"']/g, (character) => ENTITIES[character]!)
    .replace(/[\t\n\r\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `&#${character.codePointAt(0)};`);

type Attributes = Record<string, string | number>;

function element(name: string, attributes: Attributes, children: string[] = []): string {
  const start = `<${name}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join('')}`;
  return children.length === 0 ? `${start}/>` : `${start}>\n${children.join('\n')}\n</${name}>`;
}

interface Case {
  attributes: Attributes;
  result: 'passed' | 'failures' | 'errors' | 'skipped';
  children: string[];
}

export function renderJunit(report: Report, outcome: Outcome, folder: string): string {
  const found = new Map<SiteReport | null, Finding[]>(report.sites.map((site) => [site, []]));
  for (const finding of outcome.findings) found.get(finding.site)?.push(finding);
  const cases = [...report.sites.map((site) => siteCase(site, found.get(site)!, folder)), programCase(outcome)];
  const count = (result: Case['result']) => cases.filter((one) => one.result === result).length;
  const figures = {
    name: 'leak-audit',
    tests: cases.length,
    failures: count('failures'),
    errors: count('errors'),
    skipped: count('skipped'),
    time: (report.summary.durationMs / 1000).toFixed(3),
  };
  const started = report.summary.startedAt;
  const suite = element(
    'testsuite',
    { ...figures, ...(started === null ? {} : { timestamp: new Date(started).toISOString().slice(0, 19) }) },
    cases.map(({ attributes, children }) => element('testcase', attributes, children)),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', figures, [suite])}\n`;
}

function siteCase(site: SiteReport, findings: Finding[], folder: string): Case {
  const attributes = {
    classname: relativeFile(site, folder),
    name: `${site.line}:${site.column}${site.function === '' ? '' : ` ${site.function}`}`,
    file: relativeFile(site, folder),
    ...(site.line > 0 ? { line: site.line } : {}),
    time: '0.000',
  };
  const open = findings.filter((finding) => finding.excuse === null);
  if (open.length > 0) {
    const children = open.map(({ message, rule }) => element('failure', { message, type: rule }));
    return { attributes, result: 'failures', children };
  }
  const excused = findings[0];
  if (excused === undefined) return { attributes, result: 'passed', children: [] };
  const message = `${excused.excuse!.by}: ${excused.excuse!.reason}`;
  return { attributes, result: 'skipped', children: [element('skipped', { message })] };
}

/** Limits on the whole program, and whether the capture has enough data for a verdict. */
function programCase({ findings, status, text }: Outcome): Case {
  const attributes = { classname: 'leak-audit', name: 'program', time: '0.000' };
  const open = findings.filter((finding) => finding.site === null && finding.excuse === null);
  if (open.length > 0) {
    const children = open.map(({ message, rule }) => element('failure', { message, type: rule }));
    return { attributes, result: 'failures', children };
  }
  if (status === ExitCode.lostEvents || status === ExitCode.insufficient) {
    const type = status === ExitCode.lostEvents ? 'lost-events' : 'insufficient';
    return { attributes, result: 'errors', children: [element('error', { message: text, type })] };
  }
  return { attributes, result: 'passed', children: [] };
}
