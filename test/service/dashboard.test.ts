/** The dashboard and the alerts of the example service name only metrics that /metrics has, and show all of them. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { parse } from 'yaml';
import { run } from '../support/child';
import { ROOT } from '../support/torch';

const FOLDER = path.join(ROOT, 'examples/service');
const ALERTS = path.join(FOLDER, 'alerts.yml');
const dashboard = JSON.parse(fs.readFileSync(path.join(FOLDER, 'grafana-dashboard.json'), 'utf8'));
const alerts = parse(fs.readFileSync(ALERTS, 'utf8'));

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; description?: string };
}

const expressions = (dashboard.panels as { targets: { expr: string }[] }[]).flatMap(({ targets }) =>
  targets.map(({ expr }) => expr),
);
const rules: Rule[] = alerts.groups.flatMap(({ rules }: { rules: Rule[] }) => rules);

const NAME = /\b(?:libtorch_node|service|process|nodejs)_[a-z0-9_]+/g;
const namesIn = (texts: string[]) => new Set(texts.flatMap((text) => text.match(NAME) ?? []));
const shown = namesIn(expressions);
const watched = namesIn(rules.map(({ expr }) => expr));

/** The series of /metrics by name, as the service makes them; and the labels that each may have. */
let series: Set<string>;
let text: string;

beforeAll(async () => {
  const program = `
    const { addMetrics } = require(${JSON.stringify(path.join(ROOT, 'dist/examples/service/metrics.js'))});
    const torch = require(${JSON.stringify(path.join(ROOT, 'dist/lib/index.js'))});
    torch.setMemoryLimit(2 ** 40);
    const app = require('fastify')();
    const workers = async () => [{ memory: { tensors: 1, bytes: 4 }, restarts: 0 }];
    addMetrics(app, { batcher: () => ({ waiting: 0 }), workers, verdict: true });
    const ask = () => app.inject({ url: '/metrics' });
    ask().then(ask).then(async ({ body }) => {
      await app.close();
      console.log(body);
    });
  `;
  const { code, stdout, stderr } = await run(process.execPath, ['-e', program]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  text = stdout;
  series = new Set();
  for (const [, name, type] of stdout.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) series.add(`${name}_${part}`);
    else series.add(name!);
  }
});

test('each metric of the dashboard and the alerts is in /metrics', () => {
  expect(shown.size).toBeGreaterThan(20);
  expect(watched.size).toBeGreaterThan(8);
  expect([...shown, ...watched].filter((name) => !series.has(name))).toEqual([]);
});

test("the dashboard shows each metric of libtorch and of the service, and the alerts' too", () => {
  const ours = [...series].filter((name) => /^(libtorch_node|service)_/.test(name));
  expect(ours.length).toBeGreaterThan(18);
  // Quantiles need the buckets of a histogram, means the other two.
  const histograms = new Set(['service_request_seconds_sum', 'service_batch_size_bucket']);
  expect(ours.filter((name) => !shown.has(name) && !histograms.has(name))).toEqual([]);
  expect([...watched].filter((name) => !shown.has(name))).toEqual([]);
});

test('labels in the alerts are labels of the metrics', () => {
  // `job` and `instance` come from Prometheus, `le` from its histograms.
  const documented = fs.readFileSync(path.join(ROOT, 'docs/metrics.md'), 'utf8');
  for (const { expr } of rules) {
    for (const [, name, label] of expr.matchAll(/([a-z_]+)\{([a-z]+)=/g)) {
      const printed = new RegExp(`^${name}\\{[^}]*\\b${label}=`, 'm').test(text);
      const named = new RegExp(`\`${name}\` \\|[^|]*\`${label}\``).test(documented);
      const source = fs.readFileSync(path.join(FOLDER, 'metrics.ts'), 'utf8').includes(`'${label}'`);
      expect([name, label, printed || named || source]).toEqual([name, label, true]);
    }
  }
  for (const { alert, annotations } of rules) expect([alert, annotations.summary.length > 20]).toEqual([alert, true]);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

test('panels have titles, do not overlap, and use the chosen data source', () => {
  const taken = new Set<string>();
  for (const { title, gridPos, datasource, targets } of dashboard.panels) {
    expect(title).not.toBe('');
    expect(datasource.uid).toBe(`$` + `{datasource}`); // Grafana's variable
    expect(targets.length).toBeGreaterThan(0);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      expect([title, x < 24, taken.has(`${x} ${gridPos.y}`)]).toEqual([title, true, false]);
      taken.add(`${x} ${gridPos.y}`);
    }
  }
  expect(expressions.every((expr) => expr.includes('instance=~"$instance"'))).toBe(true);
});

/** Debian's package prometheus has it, which also starts a server; so it is not among the packages that the tests install. */
const promtool = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'promtool'))
  .find((file) => fs.existsSync(file));

if (promtool !== undefined) {
  test('promtool accepts the rules, and they fire when they should', async () => {
    const checked = await run(promtool, ['check', 'rules', ALERTS]);
    expect({ code: checked.code, out: checked.stdout }).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${rules.length} rules found`),
    });
    const { code, stdout, stderr } = await run(promtool, [
      'test',
      'rules',
      path.join(__dirname, 'alerts.promtool.yml'),
    ]);
    expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' });
  });
}
