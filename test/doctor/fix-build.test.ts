/**
 * `libtorch-node doctor --fix --yes` repairs an installed package that has no addon for this libtorch: it runs
 * `libtorch-node build`, and the package works afterwards.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { folder } from './machine';

jest.setTimeout(limitMs(240_000));

const bindings = require('../../lib/libtorch/bindings') as typeof import('../../lib/libtorch/bindings');
const { findLibtorch } = require('../../lib/libtorch/find') as typeof import('../../lib/libtorch/find');

/** The installed package: its prebuilds/ has the generated sources for this libtorch, but no addon. */
function installedWithoutAddon(): string {
  const place = path.join(folder(), 'libtorch-node');
  fs.cpSync(path.join(ROOT, 'dist'), path.join(place, 'dist'), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'package.json'), path.join(place, 'package.json'));
  for (const name of ['scripts', 'native']) {
    const filter = (file: string) => path.basename(file) !== 'generated';
    fs.cpSync(path.join(ROOT, name), path.join(place, name), { recursive: true, filter });
  }
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(place, 'node_modules'));
  const libtorch = findLibtorch();
  const prebuilt = path.join(place, 'prebuilds', bindings.platform, bindings.bindingName(libtorch));
  fs.cpSync(path.join(ROOT, 'lib/generated'), path.join(prebuilt, 'generated'), { recursive: true });
  fs.cpSync(path.join(ROOT, 'native/generated'), path.join(prebuilt, 'sources'), { recursive: true });
  fs.writeFileSync(path.join(prebuilt, 'binding.json'), JSON.stringify(bindings.bindingInfo(libtorch)));
  return place;
}

/** A compiler that takes no minutes: it "links" the addons that this checkout has compiled from the same sources. */
function compiler(): string {
  const file = path.join(folder(), 'g++');
  const script = `#!/bin/sh
[ "$1" = --version ] && echo 'g++ (made for a test) 1.0' && exit 0
case " $* " in *' -c '*) linking= ;; *) linking=yes ;; esac
while [ "$1" != -o ]; do shift; done
if [ "$linking" ]; then cp "${path.join(ROOT, 'build/Release')}/$(basename "$2")" "$2"; else : > "$2"; fi
`;
  fs.writeFileSync(file, script, { mode: 0o755 });
  return file;
}

it('an addon is built for the libtorch that has none, and loads', async () => {
  const place = installedWithoutAddon();
  const cache = path.join(folder(), 'cache');
  const env = { ...ordinaryEnv(), NO_COLOR: '1', LIBTORCH_NODE_CACHE: cache, CXX: compiler() };
  const program = path.join(place, 'dist/cli/libtorch-node.js');
  const doctor = (...args: string[]) => run(process.execPath, [program, 'doctor', ...args], { env });

  const before = await doctor('--fix');
  expect(before).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('to fix addon:\n\n  npx libtorch-node build\n'),
  });
  const fixed = await doctor('--fix', '--yes');
  expect(fixed).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 problem\n[\s\S]*\nhealthy\n$/) });
  expect(fixed.stderr).toContain('Built in ');
  const sum = `console.log(require(${JSON.stringify(place)}).ones([2, 3]).sum().item())`;
  expect(await run(process.execPath, ['-e', sum], { env })).toMatchObject({ code: 0, stdout: '6\n' });
  const healthy = await doctor('--json');
  const addon = JSON.parse(healthy.stdout).checks.find(({ name }: { name: string }) => name === 'addon');
  expect(addon).toMatchObject({ status: 'ok', summary: expect.stringContaining(cache) });
});
