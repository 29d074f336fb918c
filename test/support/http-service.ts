/** A built example that serves HTTP, on a port that it prints. */
import * as path from 'node:path';
import type { Outcome } from './child';
import { startProgram } from './program';
import { ROOT } from './torch';

export async function startHttpService(main: string, args: string[]) {
  const program = startProgram(process.execPath, [path.join(ROOT, 'dist/examples', main), ...args]);
  const url = (await program.shows(/^listening on (http:\S+)\n/m))[1]!;
  return {
    ...program,
    url,
    /** Shuts it down gracefully; `asked` if that has already begun. */
    async end(asked = false): Promise<Outcome> {
      if (!asked) program.child.kill('SIGTERM'); // a second signal would end it at once
      const outcome = await program.ended;
      expect(outcome).toMatchObject({ code: 0, signal: null });
      return outcome;
    },
    /** For afterEach: cleans up after the test. */
    async kill(): Promise<void> {
      program.child.kill('SIGKILL');
      await program.ended;
    },
  };
}
