/** Builds the C++ programs of bench/cpp. One of them measures the emitted guards, so it needs a finished `npm run build`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildDir, inRoot } from '../../scripts/paths.mjs';
import { runLogged } from '../../scripts/steps/command.mjs';
import { withLock } from '../../scripts/steps/lock.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { filesBelow, isUpToDate, whenChanged } from '../../scripts/steps/stamps.mjs';

const cppDir = path.join(buildDir, 'bench');
const programs = path.join(cppDir, 'programs');

/** @param {'guards' | 'ops' | 'peers' | 'train'} name */
export const cppCommand = (name) => [programs, name];

/** The structs of the emitted guards, which are templates: those of native/generated, without the op table. */
function emittedGuards() {
  const structs = filesBelow(['native/generated'], ['.cpp']).flatMap(
    (file) => readFileSync(file, 'utf8').match(/^struct Guard_\w+ \{\n[\s\S]*?^\};\n/gm) ?? [],
  );
  return `#pragma once\n#include "native/ops/guarded.h"\nnamespace ltn {\n${structs.join('')}}  // namespace ltn\nusing namespace ltn;\n`;
}

/** Compiles them if they, the guards or scripts/libtorch.mjs changed. */
export async function ensureCppPrograms() {
  const inputs = {
    files: filesBelow(
      ['bench/cpp', 'bench/measure/cpp.mjs', 'native/ops', 'native/generated', 'scripts/libtorch.mjs'],
      [''],
    ),
    outputs: [programs],
  };
  if (isUpToDate('bench', inputs)) return; // without waiting for the build lock
  const compile = () =>
    step('the C++ benchmarks: compiling', async () => {
      mkdirSync(cppDir, { recursive: true });
      writeFileSync(path.join(cppDir, 'emitted_guards.h'), emittedGuards());
      const configure = ['-S', inRoot('bench', 'cpp'), '-B', cppDir, `-DLTN_NODE=${process.execPath}`];
      await runLogged('bench', 'cmake', configure);
      await runLogged('bench', 'cmake', ['--build', cppDir], { append: true });
    });
  await withLock(() => whenChanged('bench', inputs, compile));
}
