/** The files of examples/distributed/launch: they fit the programs that they start. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { readOptions } from '../../examples/service/options';
import { mistakesIn } from './launch-schemas';

const ROOT = path.resolve(__dirname, '../..');
const file = (name: string) => path.join(ROOT, 'examples/distributed/launch', name);
const text = (name: string) => readFileSync(file(name), 'utf8');
const source = (name: string) => readFileSync(path.join(ROOT, 'examples', name), 'utf8');

/** The service's options in a command line that starts its main.js. */
function optionsOf(command: readonly string[]): ReturnType<typeof readOptions> {
  expect(command[0]).toBe('node');
  expect(command[1]).toMatch(/\/examples\/service\/main\.js$/);
  return readOptions(command.slice(2));
}

/** The paths that the service answers. */
const routes = [
  ...`${source('service/health.ts')}${source('service/metrics.ts')}`.matchAll(/app\.get\('([^']+)'/g),
].map(([, route]) => route);

const mebibytes = (quantity: string) => Number(/^(\d+)/.exec(quantity)![1]) * (/g/i.test(quantity) ? 1024 : 1);

describe('kubernetes.yaml', () => {
  const documents: any[] = parseAllDocuments(text('kubernetes.yaml')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
  const of = (kind: string) => documents.find((document) => document.kind === kind);
  const { template, selector } = of('Deployment').spec;
  const [container] = template.spec.containers;
  const options = optionsOf([...container.command, ...container.args]);

  test('the probes ask the port and the paths that the service has', () => {
    const ports = new Map(container.ports.map(({ name, containerPort }: any) => [name, containerPort]));
    expect([...ports.values()]).toEqual([options.port]);
    expect(options.host).toBe('0.0.0.0'); // the kubelet is not on the pod's loopback
    const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => container[name].httpGet);
    expect(probes.map(({ port }) => ports.get(port))).toEqual([options.port, options.port, options.port]);
    expect(probes.map((probe) => probe.path)).toEqual(['/health/live', '/health/live', '/health/ready']);
    for (const probe of probes) expect(routes).toContain(probe.path);
    const { annotations } = template.metadata;
    expect(Number(annotations['prometheus.io/port'])).toBe(options.port);
    expect(routes).toContain(annotations['prometheus.io/path']);
  });

  test('the pod outlives the drain, and its memory the limit of tensors', () => {
    expect(1000 * template.spec.terminationGracePeriodSeconds).toBeGreaterThan(options.drainMs);
    expect(mebibytes(container.resources.limits.memory)).toBeGreaterThan(options.memoryLimitMb);
    expect(options.model.startsWith(container.volumeMounts[0].mountPath)).toBe(true);
    expect(container.volumeMounts[0].name).toBe(template.spec.volumes[0].name);
  });

  test('the Service and the budget select the pods', () => {
    const { labels } = template.metadata;
    expect(selector.matchLabels).toEqual(labels);
    expect(of('Service').spec.selector).toEqual(labels);
    expect(of('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
    expect(of('Service').spec.ports[0].targetPort).toBe(container.ports[0].name);
    expect(of('PodDisruptionBudget').spec.minAvailable).toBeLessThan(of('Deployment').spec.replicas);
  });
});

test('compose.yaml: the check of health, the balancer and the times fit the service', () => {
  const { services, configs } = parse(text('compose.yaml'));
  const { service, balancer } = services;
  const options = optionsOf(service.command);
  expect(service.expose).toEqual([String(options.port)]);
  const [how, ...check] = service.healthcheck.test;
  expect(how).toBe('CMD');
  const url = new URL(/fetch\('([^']+)'\)/.exec(check.at(-1))![1]!);
  expect([Number(url.port), url.pathname]).toEqual([options.port, '/health/ready']);
  expect(routes).toContain(url.pathname);
  new Function(check.at(-1)); // it is JavaScript
  expect(1000 * Number.parseInt(service.stop_grace_period, 10)).toBeGreaterThan(options.drainMs);
  expect(mebibytes(service.mem_limit)).toBeGreaterThan(options.memoryLimitMb);
  expect(options.model.startsWith(service.volumes[0].split(':')[1])).toBe(true);
  expect(balancer.depends_on.service.condition).toBe('service_healthy');
  expect(Object.keys(configs)).toEqual(balancer.configs.map(({ source: name }: any) => name));
  expect(configs.nginx.content).toContain(`server service:${options.port} `);
});

test('pytorchjob.yaml: the pods are what the operator looks for', () => {
  const { kind, spec } = parse(text('pytorchjob.yaml'));
  expect(kind).toBe('PyTorchJob');
  const { Master, Worker } = spec.pytorchReplicaSpecs;
  expect([Master.replicas, Worker.template]).toEqual([1, Master.template]);
  const [container] = Master.template.spec.containers;
  expect([container.name, container.ports[0].name]).toEqual(['pytorch', 'pytorchjob-port']);
  const [program, script, ...args] = container.command;
  expect([program, path.basename(script)]).toEqual(['node', 'train.js']);
  optionsAreOfTraining(args.join(' '));
});

test('the manifests have only names that their formats have', () => {
  const documents: any[] = ['kubernetes.yaml', 'pytorchjob.yaml'].flatMap((name) =>
    parseAllDocuments(text(name)).map((document) => document.toJS()),
  );
  const kinds = ['Deployment', 'Service', 'PodDisruptionBudget', 'PyTorchJob'];
  expect(documents.map(({ kind }) => kind)).toEqual(kinds);
  for (const document of documents) expect(mistakesIn(document.kind, document)).toEqual([]);
  expect(mistakesIn('compose', parse(text('compose.yaml')))).toEqual([]);
});

test('a misspelt name in a manifest is noticed', () => {
  const [deployment]: any[] = parseAllDocuments(text('kubernetes.yaml').replace('periodSeconds', 'periodSecond'));
  expect(mistakesIn('Deployment', deployment.toJS())).toEqual([
    expect.stringMatching(/startupProbe\/periodSecond: must NOT have additional properties/),
  ]);
  const compose = parse(text('compose.yaml').replace('stop_grace_period', 'stop_grace'));
  expect(mistakesIn('compose', compose)).toEqual([expect.stringMatching(/^\/services\/service\/stop_grace: /)]);
});

/** Each option in a command line is one of train.ts. */
function optionsAreOfTraining(commandLine: string): void {
  const training = source('distributed/train.ts');
  const names = [...commandLine.matchAll(/--([a-z]+)/g)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect(training).toMatch(new RegExp(`\\b${name}: (number\\(|\\{ type)`));
}

test('torchrun.sh and slurm.sbatch are scripts, and start train.js', () => {
  execFileSync('sh', ['-n', file('torchrun.sh')]);
  execFileSync('bash', ['-n', file('slurm.sbatch')]);
  for (const name of ['torchrun.sh', 'slurm.sbatch']) {
    const started = /(?:exec )?node \S*train\.js"?(.*)/.exec(text(name))!;
    optionsAreOfTraining(started[1]!);
  }
  for (const name of ['RANK', 'WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT', 'LOCAL_RANK']) {
    expect(text('slurm.sbatch')).toMatch(new RegExp(`\\b${name}=|export .*\\b${name}\\b`));
  }
});
