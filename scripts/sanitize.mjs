/** npm run test:sanitize: the codegen and native tests again, with the address and undefined-behaviour sanitizers. */
import { inRoot } from './paths.mjs';
import { runMain } from './steps/errors.mjs';
import { withLock } from './steps/lock.mjs';
import { nativeTests } from './steps/native-tests.mjs';
import { setUp } from './steps/setup.mjs';

const env = {
  ...process.env,
  // libtorch keeps its registries for the life of the process, which the leak checker takes for leaks of ours.
  ASAN_OPTIONS: `detect_leaks=0:strict_string_checks=1:allocator_may_return_null=1:${process.env.ASAN_OPTIONS ?? ''}`,
  UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1:${process.env.UBSAN_OPTIONS ?? ''}`,
};

await runMain(async () => {
  await withLock(() => setUp(['build', 'tests']));
  const { passed, failed } = await nativeTests({
    dir: inRoot('build', 'cmake-sanitize'),
    definitions: ['-DCMAKE_BUILD_TYPE=RelWithDebInfo', '-DLTN_SANITIZE=address,undefined'],
    env,
  });
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
});
