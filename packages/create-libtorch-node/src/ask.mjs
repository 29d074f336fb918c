/** Asks on a terminal for what the command line did not say. */
import { createInterface } from 'node:readline/promises';
import { Interrupted, printable } from './errors.mjs';
import { defaultTemplate, templateNames, templates } from './templates.mjs';

export const defaultFolder = 'my-tensors';

/** A question that is repeated until `read` accepts the answer. */
async function ask(terminal, question, read) {
  for (;;) {
    const answer = read((await terminal.question(question)).trim());
    if (answer.problem === undefined) return answer.value;
    terminal.output.write(`  ${answer.problem}\n`);
  }
}

/** The template of an answer: its name or number, or the default for an empty one. */
function templateOf(answer) {
  if (answer === '') return { value: defaultTemplate };
  const name = /^\d+$/.test(answer) ? templateNames[Number(answer) - 1] : answer;
  if (templateNames.includes(name)) return { value: name };
  return {
    problem: `expected a number from 1 to ${templateNames.length} or a name of the list, got ${printable(answer)}`,
  };
}

/**
 * @param {{ folder?: string, template?: string }} given
 * @param {(folder: string) => string | null} folderProblem why a project cannot be made in a folder, or null
 * @returns {Promise<{ folder: string, template: string }>}
 */
export async function askForRest({ folder, template }, folderProblem) {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.output = process.stderr;
  // The terminal is in raw mode, so that Ctrl-C is a key and not a signal; Ctrl-D closes it.
  const closed = new Promise((_, reject) => {
    terminal.once('SIGINT', () => reject(new Interrupted('SIGINT')));
    terminal.once('close', () => reject(new Interrupted('SIGINT')));
  });
  closed.catch(() => {}); // after the last answer nobody waits for it
  const answered = async () => {
    const at =
      folder ??
      (await ask(terminal, `Folder (${defaultFolder}): `, (answer) => {
        const value = answer === '' ? defaultFolder : answer;
        const problem = folderProblem(value);
        return problem === null ? { value } : { problem };
      }));
    if (template !== undefined) return { folder: at, template };
    const list = templateNames.map((name, i) => `  ${i + 1}  ${name.padEnd(10)}${templates[name].summary}\n`);
    terminal.output.write(list.join(''));
    const number = templateNames.indexOf(defaultTemplate) + 1;
    return { folder: at, template: await ask(terminal, `Template (${number}): `, templateOf) };
  };
  try {
    return await Promise.race([answered(), closed]);
  } finally {
    terminal.close();
  }
}
