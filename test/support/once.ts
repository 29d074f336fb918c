/** What several test files need, none of them changes, and is expensive to make: it is made once in a run of Jest. */
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Whether this process is to make it. */
function taken(lock: string): boolean {
  try {
    fs.mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/**
 * The folder of this name, which `make` fills when the first file asks for it. Others wait; their own time limit ends the wait
 * for a process that crashed. If `make` fails, so does that file, and the next one makes it again.
 */
export async function once(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const made = path.join(process.env.LTN_RUN_FOLDER!, name);
  const unfinished = `${made}.unfinished`;
  while (!fs.existsSync(made)) {
    if (!taken(unfinished)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    try {
      // Not by a process that finished between the two looks.
      if (!fs.existsSync(made)) {
        await make(unfinished);
        fs.renameSync(unfinished, made);
      }
    } finally {
      fs.rmSync(unfinished, { recursive: true, force: true });
    }
  }
  return made;
}
