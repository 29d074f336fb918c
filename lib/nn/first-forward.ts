/** What a lazy module does before its first `forward`. Copies of the module do it as well, so it gets the module. */
import type { Module } from './module';

export type FirstForward = (module: any, input: unknown) => void;

/** Calls `run` before the first `forward`, and again before the next one if it throws. */
export function onFirstForward(module: Module, run: FirstForward): void {
  module._state.firstForward = run;
  const handle = module.registerForwardPreHook((called: Module, [input]) => {
    run(called, input);
    handle.remove();
    called._state.firstForward = null;
  });
}
