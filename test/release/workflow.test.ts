/**
 * The workflow files: permissions, and that the published file is the tested one. The steps that pack and publish are run
 * here with a fake npm.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { parse } from 'yaml';
import { folder } from '../package/folder';
import { type Outcome, run } from '../support/child';
import { ROOT } from '../support/torch';

interface Step {
  id?: string;
  name?: string;
  uses?: string;
  with?: Record<string, unknown>;
  run?: string;
  env?: Record<string, string>;
}
interface Job {
  permissions?: Record<string, string>;
  'runs-on'?: string;
  steps: Step[];
  needs?: string | string[];
  if?: string;
  environment?: string;
  outputs?: Record<string, string>;
  'timeout-minutes'?: number;
}
interface Workflow {
  on: Record<string, unknown>;
  permissions?: Record<string, string>;
  concurrency?: Record<string, unknown>;
  env?: unknown;
  jobs: Record<string, Job>;
}
const dir = path.join(ROOT, '.github/workflows');
const names = fs.readdirSync(dir);
const textOf = (name: string) => fs.readFileSync(path.join(dir, name), 'utf8');
/** Of the repository itself: they are in the checkout, and what they use is checked as in a workflow. */
const actionDir = path.join(ROOT, '.github/actions');
const actions = fs.readdirSync(actionDir).map((name) => ({
  uses: `./.github/actions/${name}`,
  text: fs.readFileSync(path.join(actionDir, name, 'action.yml'), 'utf8'),
}));
const local = new Set(actions.map(({ uses }) => uses));
const workflows = names.map((name): [string, Workflow] => [name, parse(textOf(name))]);
const release = parse(textOf('release.yml')) as Workflow;
const jobsOf = ([name, { jobs }]: [string, Workflow]) =>
  Object.entries(jobs).map(([job, value]): [string, Job] => [`${name} ${job}`, value]);
const jobs = workflows.flatMap(jobsOf);
const steps = [
  ...jobs.flatMap(([name, job]) => job.steps.map((step): [string, Step] => [name, step])),
  ...actions.flatMap(({ uses, text }) =>
    (parse(text).runs.steps as Step[]).map((step): [string, Step] => [uses, step]),
  ),
];
const texts = [...names.map(textOf), ...actions.map(({ text }) => text)];
const publishing = 'release.yml publish';

describe('every workflow', () => {
  it('does not give global permissions, and each job can at most read the sources', () => {
    for (const [name, { permissions }] of workflows) expect([name, permissions]).toEqual([name, {}]);
    for (const [name, { permissions }] of jobs) {
      const allowed = name === publishing ? { 'id-token': 'write' } : { contents: 'read' };
      expect([name, permissions]).toEqual([name, allowed]);
    }
  });

  it('refers to each action by commit, with the version in a comment, and the same commit everywhere', () => {
    const all = texts.flatMap((text) => [...text.matchAll(/^\s*(?:- )?uses:(.*)$/gm)].map(([, what]) => what!));
    const used = all.filter((what) => !local.has(what.trim()));
    expect(used.length).toBeGreaterThanOrEqual(8);
    const commits = new Map<string, string>();
    for (const what of used) {
      const parts = /^ (actions\/[a-z-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$/.exec(what);
      expect([what, parts !== null]).toEqual([what, true]);
      const [, action, commit, version] = parts!;
      expect(commits.get(action!) ?? `${commit} ${version}`).toBe(`${commit} ${version}`);
      commits.set(action!, `${commit} ${version}`);
    }
    expect(steps.filter(([, { uses }]) => uses !== undefined)).toHaveLength(all.length);
  });

  it('does not leave credentials in a checkout', () => {
    const checkouts = steps.filter(([, { uses }]) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.length).toBeGreaterThan(0);
    for (const [name, step] of checkouts) expect([name, step.with?.['persist-credentials']]).toEqual([name, false]);
  });

  it("has a timeout, and is not started with our permissions by a stranger's pull request", () => {
    for (const [name, job] of jobs) expect([name, job['timeout-minutes']]).toEqual([name, expect.any(Number)]);
    for (const [name, { on, concurrency }] of workflows) {
      const risky = ['pull_request_target', 'workflow_run', 'issue_comment'].filter((event) => event in on);
      expect([name, risky]).toEqual([name, []]);
      expect([name, concurrency]).toEqual([name, expect.objectContaining({ 'cancel-in-progress': expect.anything() })]);
    }
  });

  it('does not put expressions into scripts: names of tags and branches are never run', () => {
    for (const [name, step] of steps) expect([name, step.run?.includes('${{') ?? false]).toEqual([name, false]);
  });

  it('passes secrets only to the step that publishes', () => {
    const shown = texts.flatMap((text) =>
      [...text.matchAll(/\bsecrets\.\w+|\bgithub\.token\b/g)].map(([what]) => what),
    );
    expect(shown).toEqual(['secrets.NPM_TOKEN']);
    const [name, step] = steps.find(([, { env }]) => JSON.stringify(env ?? {}).includes('secrets.'))!;
    expect([name, step.name]).toEqual([publishing, 'Publish']);
  });
});

describe('the check of a change', () => {
  it('is .ci/run, for each push to main and each pull request', () => {
    const { on, jobs: checks } = parse(textOf('ci.yml')) as Workflow;
    expect(on).toEqual({ push: { branches: ['main'] }, pull_request: null });
    const runs = Object.values(checks).map((job) => job.steps.map(({ run: script, uses }) => script ?? uses!));
    expect(runs).toEqual([expect.arrayContaining(['./.github/actions/set-up', '.ci/run'])]);
  });
});

describe('the release', () => {
  const { binding, audit, package: packing, publish } = release.jobs;
  const scripts = (job: Job) => job.steps.map((step) => step.run ?? step.uses!);
  const indexOf = (job: Job, what: RegExp) => scripts(job).findIndex((script) => what.test(script));

  it('publishes from its own job, after the audit and the tests, on a pushed tag', () => {
    expect(publish!.needs).toEqual(['audit', 'package', 'libtorch', 'libtorch_arm64', 'arm64']);
    expect(publish!.environment).toBe('release');
    expect(publish!.if).toBe("github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')");
    expect(packing!.needs).toBe('binding');
    expect(scripts(audit!)).toContain('npm run audit');
    expect(scripts(binding!)).toContain('node scripts/test.mjs --no-lint');
  });

  it('makes the bindings for arm64 before packing, and runs them under qemu and on a real processor', () => {
    const { libtorch_arm64: emulated, arm64: real } = release.jobs;
    const cross = indexOf(packing!, /prebuild -- --arch arm64 bookworm trixie forky$/);
    expect(cross).toBeGreaterThan(indexOf(packing!, /npm run build/));
    expect(cross).toBeLessThan(indexOf(packing!, /npm pack/));
    expect(scripts(emulated!).join('\n')).toContain('npm run test:qemu -- bookworm trixie forky');
    expect(real!['runs-on']).toBe('ubuntu-24.04-arm');
    expect(scripts(real!)).toContain('node scripts/bare/programs.mjs "$RUNNER_TEMP/app"');
  });

  it("builds with PyTorch's libtorch on macOS, and finds it on Windows, for a release with generated sources", () => {
    for (const [name, runner] of [
      ['macos', /^macos-/],
      ['windows', /^windows-/],
    ] as const) {
      const job = release.jobs[name]!;
      expect(job['runs-on']).toMatch(runner);
      expect(job.needs).toBe('package');
      const [, version] = /pip install torch==(\d+\.\d+)\.\d+/.exec(scripts(job).join('\n'))!;
      expect(scripts(packing!).find((script) => script.includes('release-check'))).toContain(` ${version} `);
    }
    const titles = /programs\.mjs "\$RUNNER_TEMP\/app" (.*)\n/
      .exec(scripts(release.jobs.macos!).join('\n'))![1]!
      .split(' ');
    const programs = fs.readFileSync(path.join(ROOT, 'scripts/bare/programs.mjs'), 'utf8');
    for (const title of titles) expect(programs).toContain(`['${title}', `);
    const build = fs.readFileSync(path.join(ROOT, 'scripts/installed/build.mjs'), 'utf8');
    const [, said] = /grep "(.*)" said\.txt/.exec(scripts(release.jobs.windows!).join('\n'))!;
    expect(build).toContain(said);
  });

  it('the job with the identity does not check out, install, build or pack', () => {
    const used = publish!.steps.flatMap(({ uses }) => (uses === undefined ? [] : [uses.split('@')[0]]));
    expect(used).toEqual(['actions/setup-node', ...Array(4).fill('actions/download-artifact')]);
    const commands = publish!.steps.map((step) => step.run ?? '').join('\n');
    expect([...commands.matchAll(/\bnpm (\w+)( \w+)?/g)].map(([command]) => command)).toEqual([
      'npm config get',
      'npm config set',
      'npm view',
      ...Array(3).fill('npm publish'),
    ]);
    expect(commands).not.toMatch(/\bnpx\b|\bgit |\bcurl\b|scripts\//);
    // What a package names is published before it.
    const published = [...commands.matchAll(/npm publish "(.*)" --ignore-scripts --provenance --access public\n/g)];
    expect(commands).toContain('for file in "libtorch/$LIBTORCH_FILE" "libtorch-arm64/$ARM64_FILE"; do\n');
    expect(published.map(([, file]) => file)).toEqual(['./$file', './package/$FILE', './create/$CREATE_FILE']);
  });

  it('packs once, with the repository in package.json, and uploads the tarball before any test runs', () => {
    const all = names.map(textOf).join('\n');
    expect(all.match(/^ +npm pack\b.*$/gm)).toEqual([
      expect.stringContaining('npm pack --ignore-scripts --pack-destination package'),
      expect.stringContaining('npm pack ./packages/create-libtorch-node --ignore-scripts --pack-destination create'),
    ]);
    expect(all.match(/npm publish/g)).toHaveLength(3);
    const order = [
      ...[/npm pkg set repository/, /npm run build/, /release-check\.mjs 1\.13 2\.6 2\.14/, /npm pack/],
      ...[
        /upload-artifact/,
        /^npm test$/,
        /npm run test:nodes -- 22 24 26/,
        /npm run test:tarball/,
        /npm run bench -- .*--compare bench\/baseline\.json/,
        /sha256sum --check/,
      ],
    ].map((what) => indexOf(packing!, what));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
    expect(packing!.outputs).toEqual(
      Object.fromEntries([
        ...['file', 'sha256', 'sha512'].map((name) => [name, `\${{ steps.pack.outputs.${name} }}`]),
        ...['file', 'sha512'].map((name) => [`create_${name}`, `\${{ steps.create.outputs.${name} }}`]),
      ]),
    );
  });
});

/** Runs the steps that pack and those that publish, like the runner, with an npm that packs a fake package. */
describe('the steps, run', () => {
  const place = folder();
  const at = (...parts: string[]) => path.join(place, ...parts);
  const tag = 'v1.2.3';
  const repository = 'git+https://example.test/owner/name.git';
  const runner = {
    GITHUB_REF_NAME: tag,
    GITHUB_SERVER_URL: 'https://example.test',
    GITHUB_REPOSITORY: 'owner/name',
    GITHUB_OUTPUT: at('output'),
    GITHUB_ENV: at('env'),
    HOME: place,
    NODE_AUTH_TOKEN: 'a-token',
  };
  const made = (text: string) =>
    JSON.stringify({ name: '@libtorch-node/x', version: '1.2.3', repository: { url: repository }, text });

  /** An npm that packs `manifest` and logs its other calls. */
  function npm(manifest: string) {
    fs.rmSync(at('work'), { recursive: true, force: true });
    for (const name of ['bin', 'work', 'made/package']) fs.mkdirSync(at(name), { recursive: true });
    fs.writeFileSync(at('made/package/package.json'), manifest);
    fs.writeFileSync(
      at('bin/npm'),
      `#!/bin/sh\ncase "$1" in\npack) shift; [ "$1" = --ignore-scripts ] || shift; tar -czf "$3/x-1.2.3.tgz" -C ${at('made')} package;;\n*) printf '%s\\n' "$*" >> ${at('asked')};;\nesac\n` +
        'if [ "$1 $2" = "config get" ]; then echo https://registry.test/; fi\n',
      { mode: 0o755 },
    );
    for (const name of ['asked', 'output', 'env']) fs.writeFileSync(at(name), '');
  }
  const shell = (script: string, env: NodeJS.ProcessEnv): Promise<Outcome> =>
    run('bash', ['--norc', '-c', 'cd "$0" && exec bash --norc -euo pipefail -c "$1"', at('work'), script], {
      env: { ...process.env, ...runner, ...env, PATH: `${at('bin')}${path.delimiter}${process.env.PATH}` },
    });

  async function pack(manifest: string): Promise<Record<string, string>> {
    npm(manifest);
    const { code, stderr } = await shell(release.jobs.package!.steps.find(({ id }) => id === 'pack')!.run!, {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const outputs = written();
    // The other packages, made by the steps of their jobs: those of libtorch have the same manifest here.
    for (const [job, id, prefix, artifact] of [
      ['package', 'create', 'create_', undefined],
      ['libtorch', 'digests', 'libtorch_', 'libtorch'],
      ['libtorch_arm64', 'digests', 'libtorch_arm64_', 'libtorch-arm64'],
    ] as const) {
      fs.mkdirSync(at('work/build/packages'), { recursive: true });
      fs.cpSync(at('work/package/x-1.2.3.tgz'), at(`work/build/packages/${artifact}-2.6.0.tgz`));
      fs.writeFileSync(at('output'), '');
      const made = await shell(release.jobs[job]!.steps.find((step) => step.id === id)!.run!, {});
      expect(made.code).toBe(0);
      for (const [name, value] of Object.entries(written())) outputs[`${prefix}${name}`] = value;
      if (artifact !== undefined) fs.renameSync(at('work/build/packages'), at('work', artifact));
      fs.rmSync(at('work/build'), { recursive: true });
    }
    return outputs;
  }
  const written = (): Record<string, string> =>
    Object.fromEntries(
      fs
        .readFileSync(at('output'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    );

  /** Runs the steps until one fails. Returns the calls of npm, if any. */
  async function publish(outputs: Record<string, string>, env: NodeJS.ProcessEnv = {}) {
    for (const step of release.jobs.publish!.steps.filter((candidate) => candidate.run !== undefined)) {
      const given = Object.entries(step.env!).flatMap(([name, value]) => {
        const [, job, output] =
          /^\$\{\{ needs\.(package|libtorch|libtorch_arm64)\.outputs\.(\w+) \}\}$/.exec(value) ?? [];
        if (output === undefined) return [];
        return [[name, outputs[job === 'package' ? output : `${job}_${output}`]!] as const];
      });
      const { code } = await shell(step.run!, { ...Object.fromEntries(given), ...env });
      if (code !== 0) return { stopped: step.name, asked: fs.readFileSync(at('asked'), 'utf8') };
    }
    return { stopped: undefined, asked: fs.readFileSync(at('asked'), 'utf8') };
  }
  const refused = { stopped: expect.stringContaining('The file is the one that was tested'), asked: '' };

  it('publish the packed tarball, with a token that is not in a file or argument', async () => {
    const outputs = await pack(made('tested'));
    const bytes = fs.readFileSync(at('work/package/x-1.2.3.tgz'));
    const digest = (name: string) => createHash(name).update(bytes).digest('hex');
    expect(outputs).toMatchObject({ file: 'x-1.2.3.tgz', sha256: digest('sha256'), sha512: digest('sha512') });
    expect(fs.readFileSync(at('env'), 'utf8')).toBe(`LTN_TARBALL=${at('work/package/x-1.2.3.tgz')}\n`);
    const { stopped, asked } = await publish(outputs);
    expect(stopped).toBeUndefined();
    expect(asked.split('\n')).toEqual([
      'config get registry',
      `config set //registry.test/:_authToken=\${NODE_AUTH_TOKEN}`,
      'view @libtorch-node/x@1.2.3 dist.integrity',
      'publish ./libtorch/libtorch-2.6.0.tgz --ignore-scripts --provenance --access public',
      'view @libtorch-node/x@1.2.3 dist.integrity',
      'publish ./libtorch-arm64/libtorch-arm64-2.6.0.tgz --ignore-scripts --provenance --access public',
      'publish ./package/x-1.2.3.tgz --ignore-scripts --provenance --access public',
      'publish ./create/x-1.2.3.tgz --ignore-scripts --provenance --access public',
      '',
    ]);
  });

  it.each([
    ['another file by its name', () => fs.writeFileSync(at('work/package/x-1.2.3.tgz'), 'other')],
    ['one byte more', () => fs.appendFileSync(at('work/package/x-1.2.3.tgz'), '\0')],
    ['a second file', () => fs.writeFileSync(at('work/package/y.tgz'), '')],
    ['a hidden file', () => fs.writeFileSync(at('work/package/.npmrc'), 'ignore-scripts=false')],
    ['no file', () => fs.rmSync(at('work/package/x-1.2.3.tgz'))],
  ])('stop before npm is called: %s', async (_what, tamper) => {
    const outputs = await pack(made('tested'));
    tamper();
    expect(await publish(outputs)).toEqual(refused);
  });

  it('stop if the digests are those of empty input', async () => {
    const outputs = await pack(made('tested'));
    expect(await publish({ ...outputs, sha256: '' })).toEqual(refused);
    expect(await publish({ ...outputs, sha512: '' })).toEqual(refused);
    expect(await publish({ file: '', sha256: '', sha512: '' })).toEqual(refused);
  });

  it.each([
    ['the tag of another version', made('tested'), { GITHUB_REF_NAME: 'v1.2.4' }],
    ['a branch', made('tested'), { GITHUB_REF_NAME: '1.2.3' }],
    ['another repository', made('tested'), { GITHUB_REPOSITORY: 'owner/fork' }],
    ['a package that says no repository', JSON.stringify({ version: '1.2.3' }), {}],
    ['a package.json that is not JSON', '{', {}],
  ])('stop: %s', async (_what, manifest, env) => {
    expect(await publish(await pack(manifest), env)).toEqual(refused);
  });

  it('the tag is compared with package.json before anything is built', async () => {
    const check = release.jobs.package!.steps.find(({ name }) => name === 'The tag is the version')!.run!;
    npm(made('tested'));
    fs.writeFileSync(at('work/package.json'), made('tested'));
    expect((await shell(check, {})).code).toBe(0);
    expect((await shell(check, { GITHUB_REF_NAME: 'v1.2.3-beta' })).code).not.toBe(0);
  });
});
