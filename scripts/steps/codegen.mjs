/** Codegen: builds the two generators, then runs them: libtorch's headers -> build/Declarations.yaml -> the bindings. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { findLibtorch } from '../libtorch.mjs';
import { cmakeDir, declarationsFile, inRoot } from '../paths.mjs';
import { cmakeBuild } from './cmake.mjs';
import { runLogged, runShown } from './command.mjs';
import { step } from './progress.mjs';
import { filesBelow, whenChanged } from './stamps.mjs';

const program = (name) => path.join(cmakeDir, 'bin', name);
const committedLedger = inRoot('codegen', 'ledger');
const scratchLedger = inRoot('build', 'ledger');

/** Identifies the libtorch found, without reading its headers. */
export function libtorchIdentity() {
  const { version, include, lib, registrationHeader } = findLibtorch();
  return { version, include, lib, headers: statSync(registrationHeader).mtimeMs };
}

const bindingsArgs = (ledger) => [
  ...['--declarations', declarationsFile],
  ...['--spec', inRoot('codegen', 'spec')],
  ...['--out', inRoot('.')],
  ...['--ledger', ledger],
  ...['--history', committedLedger],
];

/** Writes the generated sources; the ledger goes to build/ledger, so that a build never edits the committed one. */
export async function ensureCodegen() {
  const libtorch = findLibtorch();
  const sources = filesBelow(['codegen', 'CMakeLists.txt'], ['.cpp', '.h', '.in', 'CMakeLists.txt', '.yaml']);
  const inputs = {
    files: [...sources, ...filesBelow(['codegen/ledger'], ['.tsv'])],
    values: { libtorch: libtorchIdentity() },
    outputs: [declarationsFile, ...['native', 'lib', 'types'].map((dir) => inRoot(dir, 'generated'))],
  };
  await whenChanged('codegen', inputs, async () => {
    await step('codegen: compiling the generators', () =>
      cmakeBuild('codegen-cmake', {
        targets: ['declarations', 'bindings'],
        definitions: ['-DCMAKE_BUILD_TYPE=Release', '-DBUILD_TESTING=OFF'],
      }),
    );
    await step(`codegen: declarations of libtorch ${libtorch.version}`, () =>
      runLogged('declarations', program('declarations'), ['--include', libtorch.include, '--out', declarationsFile]),
    );
    await step('codegen: bindings', () => runLogged('bindings', program('bindings'), bindingsArgs(scratchLedger)));
  });
}

/** Writes the ledger that is committed. */
export const writeLedger = () => runLogged('ledger', program('bindings'), bindingsArgs(committedLedger));

/** After ensureCodegen. @returns {Promise<boolean>} whether the committed ledger equals the output of codegen */
export async function checkLedger() {
  return (await runShown(program('bindings'), [...bindingsArgs(committedLedger), '--check'])) === 0;
}
