/** Reads a Dockerfile: enough for examples/service/Dockerfile. Both `npm run test:bare` and the tests use it. */

/**
 * @typedef {object} Instruction
 * @property {string} name
 * @property {string} text what follows the name, lines that end in a backslash joined
 */

/** The instructions of each stage, without comments. @param {string} text @returns {Instruction[][]} */
export function stagesOf(text) {
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages = [];
  for (const line of lines) {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`expected an instruction, got ${line}`);
    if (name === 'FROM') stages.push([]);
    if (stages.length === 0) throw new Error(`expected FROM before ${name}`);
    stages.at(-1).push({ name, text: rest.trim() });
  }
  return stages;
}

/** The words of the form that no shell reads: CMD ["node", "main.js"]. @param {string} text */
export const wordsOf = (text) => JSON.parse(text.slice(text.indexOf('[')));
