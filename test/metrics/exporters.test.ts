/** libtorch-node/metrics with the real prom-client and the real metrics SDK of OpenTelemetry. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { metrics as api } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { exportToOpenTelemetry, exportToPrometheus } from 'libtorch-node/metrics';
import * as prometheus from 'prom-client';
import { ask } from '../support/child';
import { codeOf, LIB, ROOT, settled, torch } from '../support/torch';

// Garbage of other tests could be freed between two figures.
beforeEach(() => void settled());
afterEach(() => {
  torch.setMemoryLimit(null);
  prometheus.register.clear();
});

/** The lines of a scrape without comments, by the text before the value. */
async function scrape(registry: prometheus.Registry = prometheus.register): Promise<Map<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

const NAMES = ['tensors', 'storages', 'live_bytes', 'allocated_bytes', 'peak_allocated_bytes'];

describe('Prometheus', () => {
  test('the figures are those of torch.memory, at the time of the scrape', async () => {
    using exported = exportToPrometheus();
    settled();
    const before = await scrape();
    const held = torch.ones([1000]);
    const view = held.view([10, 100]);
    const after = await scrape();
    const { cpu } = torch.memory().devices;
    const grown = (name: string) => after.get(name)! - before.get(name)!;
    expect(grown('libtorch_node_tensors{device="cpu"}')).toBe(2);
    expect(grown('libtorch_node_storages{device="cpu"}')).toBe(1);
    expect(grown('libtorch_node_live_bytes{device="cpu"}')).toBe(4000);
    expect(grown('libtorch_node_allocations_total')).toBeGreaterThanOrEqual(1);
    expect(after.get('libtorch_node_allocated_bytes{device="cpu"}')).toBe(cpu!.allocatedBytes);
    expect(after.get('libtorch_node_peak_allocated_bytes{device="cpu"}')).toBe(cpu!.peakAllocatedBytes);
    torch.disposeAll([held, view]);
    expect((await scrape()).get('libtorch_node_tensors{device="cpu"}')).toBe(
      before.get('libtorch_node_tensors{device="cpu"}'),
    );
    exported.stop();
  });

  test("types and help in Prometheus' format", async () => {
    using exported = exportToPrometheus();
    const text = await prometheus.register.metrics();
    for (const name of NAMES) expect(text).toContain(`# TYPE libtorch_node_${name} gauge`);
    expect(text).toContain('# TYPE libtorch_node_allocations_total counter');
    expect(text).toMatch(/# HELP libtorch_node_live_bytes Bytes of the storages .*\.\n/);
    exported.stop();
  });

  test('the limit is exported while it is set', async () => {
    using exported = exportToPrometheus();
    const name = 'libtorch_node_memory_limit_bytes';
    expect((await scrape()).has(name)).toBe(false);
    torch.setMemoryLimit(2 ** 40);
    expect((await scrape()).get(name)).toBe(2 ** 40);
    torch.setMemoryLimit(null);
    expect((await scrape()).has(name)).toBe(false);
    exported.stop();
  });

  test('another registry, prefix and prom-client; the end removes everything', async () => {
    const registry = new prometheus.Registry();
    const exported = exportToPrometheus({ register: registry, prefix: 'app_torch_', client: prometheus });
    expect([...(await scrape(registry)).keys()]).toContain('app_torch_tensors{device="cpu"}');
    expect(await prometheus.register.metrics()).not.toContain('torch');
    expect(() => exportToPrometheus({ register: registry, prefix: 'app_torch_' })).toThrow(/already been registered/);
    exported.stop();
    exported.stop();
    expect((await registry.metrics()).trim()).toBe('');
    exportToPrometheus({ register: registry, prefix: 'app_torch_' }).stop();
  });

  test('a name conflict halfway leaves nothing behind', async () => {
    const registry = new prometheus.Registry();
    new prometheus.Gauge({ name: 'libtorch_node_live_bytes', help: 'mine', registers: [registry] });
    expect(() => exportToPrometheus({ register: registry })).toThrow(/already been registered/);
    expect((await registry.getMetricsAsJSON()).map(({ name }) => name)).toEqual(['libtorch_node_live_bytes']);
  });

  test('what is not prom-client, or no registry of it', () => {
    for (const options of [{ client: {} }, { client: 5 }, { register: {} }, { register: 5 }]) {
      expect(codeOf(() => exportToPrometheus(options as never))).toBe('ERR_TORCH_ARGUMENT');
    }
  });

  test('an invalid prefix', () => {
    expect(codeOf(() => exportToPrometheus({ prefix: '1-' }))).toBe('ERR_TORCH_ARGUMENT');
  });
});

describe('OpenTelemetry', () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
  const provider = new MeterProvider({ readers: [reader] });
  afterAll(() => provider.shutdown());

  /** The metrics of a collection, by name. */
  async function collect() {
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    return new Map(all.map((metric) => [metric.descriptor.name, metric]));
  }

  test('instruments, units and values', async () => {
    using exported = exportToOpenTelemetry({ meter: provider.getMeter('test') });
    settled();
    const held = torch.ones([1000]);
    torch.setMemoryLimit(2 ** 40);
    const metrics = await collect();
    const { cpu } = torch.memory().devices;
    const value = (name: string) =>
      metrics.get(name)!.dataPoints.find(({ attributes }) => (attributes['libtorch.device'] ?? 'cpu') === 'cpu')!.value;
    expect(value('libtorch.tensors')).toBe(cpu!.tensors);
    expect(value('libtorch.storages')).toBe(cpu!.storages);
    expect(value('libtorch.memory.live')).toBe(cpu!.bytes);
    expect(value('libtorch.memory.allocated')).toBe(cpu!.allocatedBytes);
    expect(value('libtorch.memory.allocated.peak')).toBe(cpu!.peakAllocatedBytes);
    expect(value('libtorch.memory.limit')).toBe(2 ** 40);
    const before = value('libtorch.allocations') as number;
    for (let i = 0; i < 5; i++) torch.ones([10]).dispose();
    const later = (await collect()).get('libtorch.allocations')!.dataPoints[0]!.value as number;
    expect(later - before).toBeGreaterThanOrEqual(5);
    const units = [...metrics.values()].map(({ descriptor: { name, unit } }) => [name, unit]);
    expect(Object.fromEntries(units)).toEqual({
      'libtorch.tensors': '{tensor}',
      'libtorch.storages': '{storage}',
      'libtorch.memory.live': 'By',
      'libtorch.memory.allocated': 'By',
      'libtorch.memory.allocated.peak': 'By',
      'libtorch.memory.limit': 'By',
      'libtorch.allocations': '{allocation}',
    });
    exported.stop();
    const last = cpu!.tensors;
    const more = [torch.ones([1]), torch.ones([1])];
    // The SDK keeps reporting the last values, but does not query them any more.
    expect((await collect()).get('libtorch.tensors')?.dataPoints[0]?.value ?? last).toBe(last);
    torch.disposeAll([held, more]);
  });

  test('what is not a meter', () => {
    for (const meter of [{}, 5]) {
      expect(codeOf(() => exportToOpenTelemetry({ meter } as never))).toBe('ERR_TORCH_ARGUMENT');
    }
  });

  test('the global provider is the default', async () => {
    api.setGlobalMeterProvider(provider);
    using exported = exportToOpenTelemetry();
    const { resourceMetrics } = await reader.collect();
    const scope = resourceMetrics.scopeMetrics.find(({ scope: { name } }) => name === 'libtorch-node')!;
    expect(scope.scope.version).toBe(JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version);
    expect(scope.metrics.length).toBeGreaterThanOrEqual(6);
    exported.stop();
    api.disable();
  });
});

describe('a missing package', () => {
  test.each([
    ['exportToPrometheus', 'prom-client'],
    ['exportToOpenTelemetry', '@opentelemetry/api'],
  ])('%s names %s', async (name, missing) => {
    const { code, message } = await ask(`
      const Module = require('node:module');
      const { _resolveFilename } = Module;
      Module._resolveFilename = function (request, ...rest) {
        if (request === ${JSON.stringify(missing)}) throw new Error('there is none');
        return _resolveFilename.call(this, request, ...rest);
      };
      try {
        require(${JSON.stringify(`${LIB}/metrics/index.js`)}).${name}();
      } catch (error) {
        answer({ code: error.code, message: error.message });
      }
    `);
    expect({ code, message }).toEqual({
      code: 'ERR_TORCH_MISSING_PACKAGE',
      message: `${name}: the package '${missing}' is not installed, or not where libtorch-node finds it: npm install ${missing}`,
    });
  });
});

test('every name is documented', () => {
  const { deviceFigures, processFigures } = require(`${LIB}/metrics/figures.js`);
  const text = fs.readFileSync(path.join(ROOT, 'docs/metrics.md'), 'utf8');
  for (const { prometheus: name, openTelemetry, unit } of [...deviceFigures, ...processFigures]) {
    expect(text).toMatch(
      new RegExp(`^\\| \`libtorch_node_${name}\` \\| \`${openTelemetry}\` \\| \`${unit}\` \\|`, 'm'),
    );
  }
});
