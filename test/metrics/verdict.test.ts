/** The verdict of leak-audit as a metric, in a program that leaks. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { exportToPrometheus } from 'libtorch-node/metrics';
import { Registry } from 'prom-client';
import { run } from '../support/child';
import { limitMs } from '../support/sanitized';
import { codeOf, LIB, ROOT } from '../support/torch';

// Judgements run at low priority, so on a busy machine they are late.
jest.setTimeout(limitMs(240_000));

test('the verdict and the leaking line are exported, and nothing without the option', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'verdict-'));
  const program = path.join(__dirname, 'fixtures/verdict.cjs');
  const { code, stdout, stderr } = await run(process.execPath, [program], {
    env: { ...process.env, TMPDIR: folder },
    limitMs: 240_000,
  });
  fs.rmSync(folder, { recursive: true });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { off, first, leaking, removed, stopped } = JSON.parse(stdout) as Record<string, any>;
  expect(off).toEqual([]);
  const values = (lines: string[]) => lines.filter((line) => !line.startsWith('#'));
  // Before the first judgement there is no verdict, also not `clean`.
  expect(values(first)).toEqual([
    'libtorch_node_leak_judgements_total{outcome="done"} 0',
    'libtorch_node_leak_judgements_total{outcome="failed"} 0',
  ]);
  expect(values(leaking).filter((line) => line.startsWith('libtorch_node_leak_verdict'))).toEqual([
    'libtorch_node_leak_verdict{verdict="clean"} 0',
    'libtorch_node_leak_verdict{verdict="leak"} 1',
    'libtorch_node_leak_verdict{verdict="insufficient"} 0',
  ]);
  const rates = values(leaking).filter((line) => line.startsWith('libtorch_node_leak_bytes_per_minute'));
  expect(rates).toEqual([expect.stringMatching(/\{site="[^"]*verdict\.cjs:12:\d+",function="hoard"\} [1-9]/)]);
  expect(values(leaking).join('\n')).toMatch(/^libtorch_node_leak_judged_timestamp_seconds \d{10}/m);
  for (const [name, type] of [
    ['verdict', 'gauge'],
    ['bytes_per_minute', 'gauge'],
    ['judged_timestamp_seconds', 'gauge'],
    ['judgements_total', 'counter'],
  ])
    expect(leaking).toContain(`# TYPE libtorch_node_leak_${name} ${type}`);
  expect(stopped).toEqual([]);
  expect(removed).toBe(1);
});

test('a program in which no process can be started goes on', async () => {
  const program = `
    require('node:child_process').execFile = () => { throw new Error('spawn ENOMEM'); };
    const { Registry } = require('prom-client');
    const register = new Registry();
    require('libtorch-node/metrics').exportToPrometheus({ register, verdict: { everyMs: 100 } });
    const look = async () => {
      const text = await register.metrics();
      if (!/outcome="failed"} [2-9]/.test(text)) return setTimeout(look, 50);
      process.exit();
    };
    look();`;
  const { code, stderr } = await run(process.execPath, ['-e', program], { limitMs: 60_000 });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('an invalid option registers nothing', async () => {
  for (const verdict of [{ everyMs: 1 }, { mode: 'counters' }, { every: 5 }, { maxBytes: 5 }, 'yes']) {
    const register = new Registry();
    expect(codeOf(() => exportToPrometheus({ register, verdict: verdict as object }))).toBe('ERR_TORCH_ARGUMENT');
    expect((await register.metrics()).trim()).toBe('');
  }
});

test('every name is documented', () => {
  const { verdictFigures } = require(`${LIB}/metrics/figures.js`);
  const text = fs.readFileSync(path.join(ROOT, 'docs/metrics.md'), 'utf8');
  for (const { prometheus } of Object.values<{ prometheus: string }>(verdictFigures))
    expect(text).toContain(`| \`libtorch_node_${prometheus}\` |`);
});

test('tensors that are made before the next turn of the event loop do not cost the verdict', async () => {
  const program = `const torch = require(${JSON.stringify(LIB)});
    const { register } = require('prom-client');
    require(${JSON.stringify(`${LIB}/metrics/index.js`)}).exportToPrometheus({ verdict: { everyMs: 100 } });
    const weights = torch.ones([4]);
    (async function wait() {
      const { values } = await register.getSingleMetric('libtorch_node_leak_judgements_total').get();
      if (values.some(({ labels, value }) => labels.outcome === 'done' && value > 0)) process.exit(weights.shape[0] - 4);
      setTimeout(wait, 20);
    })();`;
  const { code, stderr } = await run(process.execPath, ['-e', program], { limitMs: 120_000 });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
