/**
 * Bindings for another processor: what is refused before anything is compiled. `npm run test:qemu` runs such bindings; it needs
 * a cross compiler and an emulator.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Outcome, run } from '../support/child';
import { ROOT } from '../support/torch';
import { folder } from './folder';

const prebuild = (...words: string[]): Promise<Outcome> =>
  run(process.execPath, [path.join(ROOT, 'scripts/prebuild.mjs'), '--arch', ...words]);

/** The message with which an expression fails that uses `it`, a module of scripts/. */
async function failure(file: string, expression: string): Promise<string> {
  const from = JSON.stringify(pathToFileURL(path.join(ROOT, 'scripts', file)).href);
  const program = `import * as it from ${from}; try { await ${expression}; } catch (error) { console.log(error.message); }`;
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', program]);
  expect(stderr).toBe('');
  return stdout;
}

it.each([
  ['a processor', ['sparc']],
  ['a release', ['arm64', 'bookworm', 'lenny']],
  ['neither', []],
])('expects a processor and releases that are known: %s', async (_what, words) => {
  const { code, stderr } = await prebuild(...words);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('usage: npm run prebuild -- --arch x64 | arm64 [bookworm | trixie | forky]'),
  });
});

it('does not run codegen, which could not be linked with the libtorch of another processor', async () => {
  const libtorch = JSON.stringify({ version: '9.9.0', cudaInclude: null });
  expect(await failure('installed/sources.mjs', `it.sourcesFor(${libtorch}, null)`)).toBe(
    "There are no generated sources for libtorch 9.9.0: run `npm run prebuild` first, which makes the bindings for this machine's processor.\n",
  );
});

it('edits only ELF files of 64 bits, little-endian', async () => {
  const own = fs.readFileSync(path.join(ROOT, 'build/Release/libtorch_node.node'));
  const at = folder();
  const change = (name: string, change: (bytes: Buffer) => Buffer) => {
    fs.writeFileSync(path.join(at, name), change(Buffer.from(own)));
    return JSON.stringify(path.join(at, name));
  };
  const set = (place: number, value: number) => (bytes: Buffer) => {
    bytes[place] = value;
    return bytes;
  };
  for (const file of [
    change('narrow', set(4, 1)),
    change('big', set(5, 2)),
    change('text', () => Buffer.from('!<arch>\n'.repeat(20))),
    change('short', (bytes) => bytes.subarray(0, 20)),
  ]) {
    const refused = 'expected an ELF file of 64 bits, little-endian\n';
    expect(await failure('libtorch-package/elf.mjs', `it.readNeededVersions(${file})`)).toBe(refused);
    expect(await failure('libtorch-package/elf.mjs', `it.relink(${file}, { rpath: null })`)).toBe(refused);
  }
});
