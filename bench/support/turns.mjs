/** Long-lived programs that are asked the same things in turn, so that what slows the machine slows all of them. */
import { Responder } from './child.mjs';

/**
 * @typedef {object} Question
 * @property {string} name
 * @property {string} text what the program is sent
 * @property {string[]} [of] the programs that are asked; all when left out
 */

/**
 * Asks every question of every program once a round. The first round is the warm-up, not counted: it loads libtorch and
 * lets the JIT settle.
 * @param {{ commands: Record<string, string[]>, questions: Question[], rounds: number, seconds: number }} options
 * `seconds`: the longest an answer may take
 * @returns {Promise<Record<string, Record<string, any[]>>>} the answers by program, question and round
 */
export async function inTurn({ commands, questions, rounds, seconds }) {
  const isAsked = (program, { of }) => of === undefined || of.includes(program);
  const used = Object.entries(commands).filter(([name]) => questions.some((question) => isAsked(name, question)));
  const programs = used.map(([name, command]) => ({ name, child: new Responder(name, command) }));
  const answers = Object.fromEntries(programs.map(({ name }) => [name, {}]));
  try {
    for (let round = -1; round < rounds; round++) {
      for (const question of questions) {
        for (const { name, child } of programs) {
          if (!isAsked(name, question)) continue;
          const answer = await child.ask(question.text, seconds);
          answers[name][question.name] ??= [];
          if (round >= 0) answers[name][question.name].push(answer);
        }
      }
    }
  } finally {
    for (const { child } of programs) child.end();
  }
  return answers;
}

/**
 * One figure of all answers.
 * @param {Record<string, Record<string, any[]>>} answers
 * @param {string} field
 * @returns {Record<string, Record<string, number[]>>}
 */
export const figuresOf = (answers, field) =>
  Object.fromEntries(
    Object.entries(answers).map(([program, byQuestion]) => [
      program,
      Object.fromEntries(
        Object.entries(byQuestion).map(([question, rounds]) => [question, rounds.map((answer) => answer[field])]),
      ),
    ]),
  );
