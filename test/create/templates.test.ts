/** Each template, made with the packed library: it compiles, its tests pass, and its leak check passes and can fail. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { folder } from '../package/folder';
import { packed } from '../package/tarball';
import { type Outcome, run } from '../support/child';
import { startProgram } from '../support/program';
import { limitMs } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { create, environment } from './command';

jest.setTimeout(limitMs(300_000));

const modules = path.join(ROOT, 'node_modules');
let library = '';

/** The packed library, with the packages that it depends on from the checkout: nothing is fetched. */
beforeAll(async () => {
  const at = folder();
  execFileSync('tar', ['-xzf', await packed(), '-C', at]);
  library = path.join(at, 'package');
}, limitMs(120_000));

function link(from: string, to: string): void {
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.symlinkSync(from, to);
}

/** Makes a project and its node_modules, as npm would. */
async function project(template: string): Promise<string> {
  const at = folder();
  const made = await create(at, ['app', '--template', template, '--no-install', '--system-libtorch']);
  expect(made.code).toBe(0);
  const app = path.join(at, 'app');
  const { dependencies, devDependencies } = JSON.parse(fs.readFileSync(path.join(app, 'package.json'), 'utf8'));
  const own = path.join(app, 'node_modules/libtorch-node');
  fs.cpSync(library, own, { recursive: true });
  const manifest = JSON.parse(fs.readFileSync(path.join(own, 'package.json'), 'utf8'));
  expect(Object.keys(dependencies)).toEqual(['libtorch-node']);
  const needed = { ...manifest.dependencies, ...devDependencies };
  for (const [name, version] of Object.entries(needed)) {
    const from = path.join(modules, name);
    expect([name, JSON.parse(fs.readFileSync(path.join(from, 'package.json'), 'utf8')).version]).toEqual([
      name,
      version,
    ]);
    link(from, path.join(app, 'node_modules', name));
  }
  link(path.join(modules, 'typescript/bin/tsc'), path.join(app, 'node_modules/.bin/tsc'));
  const audit = path.join(own, manifest.bin['leak-audit']);
  fs.chmodSync(audit, 0o755); // npm does that when it links a program
  link(audit, path.join(app, 'node_modules/.bin/leak-audit'));
  return app;
}

const npm = (app: string, ...args: string[]): Promise<Outcome> =>
  run('sh', ['-c', 'cd "$0" && exec npm "$@"', app, ...args], {
    env: environment({ NO_COLOR: '1' }),
    limitMs: 240_000,
  });

async function succeeds(app: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await npm(app, ...args);
  expect({ args, code, output: code === 0 ? '' : `${stdout}\n${stderr}` }).toEqual({ args, code: 0, output: '' });
  return stdout;
}

/** Changes one line of a source file. */
function change(app: string, file: string, from: string, to: string): void {
  const at = path.join(app, file);
  const text = fs.readFileSync(at, 'utf8');
  expect(text).toContain(from);
  fs.writeFileSync(at, text.replace(from, to));
}

/** `npm start`, as its README says: it answers, and a signal ends it with status 0. `to`: npm alone, or as a terminal does, all. */
async function starts(app: string, signal: 'SIGINT' | 'SIGTERM', to: 'npm' | 'all'): Promise<void> {
  const command = 'cd "$0" && exec setsid npm start'; // a group of processes: npm and the service
  const { child, ended, shows } = startProgram('sh', ['-c', command, app], environment({ NO_COLOR: '1', PORT: '0' }));
  const end = (what: NodeJS.Signals, which: 'npm' | 'all') =>
    process.kill(which === 'all' ? -child.pid! : child.pid!, what);
  try {
    const address = (await shows(/listening on (\S+)\n/))[1]!;
    const health = await fetch(`${address}/healthz`);
    expect([health.status, await health.json()]).toEqual([200, { ok: true, memory: expect.any(Object) }]);
  } catch (error) {
    end('SIGKILL', 'all');
    throw error;
  }
  end(signal, to);
  const { code, signal: by, stdout, stderr } = await ended;
  expect({ code, by, stderr }).toEqual({ code: 0, by: null, stderr: '' });
  expect(stdout.match(/all requests are answered/g)).toHaveLength(1);
}

/** A client that stops in the middle of its request does not hold the service for ever. */
async function endsWithStalledClient(app: string): Promise<void> {
  const env = environment({ PORT: '0', GRACE_MS: '100' });
  const { child, ended, shows } = startProgram(process.execPath, [path.join(app, 'dist/src/main.js')], env);
  const port = Number((await shows(/listening on \S+:(\d+)\n/))[1]);
  const client = net.connect(port, '127.0.0.1');
  client.on('error', () => {}); // the service cuts it off
  client.write('POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n{"features"');
  await once(client, 'data'); // it reads the body
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/requests did not end\n$/), stderr: '' });
  client.destroy();
}

it('service', async () => {
  const app = await project('service');
  await starts(app, 'SIGTERM', 'npm');
  await endsWithStalledClient(app);
  await starts(app, 'SIGINT', 'all');
  expect(await succeeds(app, 'test')).toMatch(/# pass 5\n# fail 0/);
  expect(await succeeds(app, 'run', 'leaks')).toMatch(/requests answered[\s\S]*CLEAN/);
  // A model that remembers its inputs.
  change(app, 'src/model.ts', 'export interface Prediction', 'const seen: Tensor[] = [];\nexport interface Prediction');
  change(
    app,
    'src/model.ts',
    'const { values, indices }',
    'seen.push(torch.keep(x));\n      const { values, indices }',
  );
  const { code, stdout } = await npm(app, 'run', 'leaks');
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/LEAK {2}src\/model\.ts:\d+/) });
});

it('training', async () => {
  const app = await project('training');
  expect(await succeeds(app, 'start')).toMatch(/accuracy on unseen points: 9\d\.\d%\nsaved model\.pt\n$/);
  expect(fs.statSync(path.join(app, 'model.pt')).size).toBeGreaterThan(1000);
  expect(await succeeds(app, 'test')).toMatch(/# pass 3\n# fail 0/);
  expect(await succeeds(app, 'run', 'leaks')).toContain('CLEAN');
});

it('audit', async () => {
  const app = await project('audit');
  const said = await succeeds(app, 'test');
  expect(said).toMatch(/# pass 4\n# fail 0/);
  expect(said).toMatch(/^clean$/m);
  expect(fs.readFileSync(path.join(app, 'leaks.xml'), 'utf8')).toContain('<testsuite');
  expect(JSON.parse(fs.readFileSync(path.join(app, 'leaks.sarif'), 'utf8')).version).toBe('2.1.0');
  // As its README says.
  change(app, 'src/cache.ts', 'LIMIT = 64', 'LIMIT = Number.POSITIVE_INFINITY');
  const { code, stdout } = await npm(app, 'run', 'leaks');
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/LEAK {2}src\/job\.ts:17/) });
});
