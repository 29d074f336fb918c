/** Long-lived programs that are asked the same things in turn, so that a temporary slowdown of the machine affects all. */
import { Responder } from './child.mjs';

/**
 * @typedef {object} Question
 * @property {string} name
 * @property {string} text what the program is sent
 * @property {string[]} [of] the programs to ask; by default all
 */

/**
 * Asks every program every question once per round. The first round is an uncounted warm-up: it loads libtorch and lets
 * the JIT compile.
 * @param {{ commands: Record<string, string[]>, questions: Question[], rounds: number, seconds: number, warmUp?: boolean }} options
 * `seconds`: the timeout of an answer; `warmUp: false`: without the first round
 * @returns {Promise<Record<string, Record<string, any[]>>>} the answers by program, question and round
 */
export async function inTurn({ commands, questions, rounds, seconds, warmUp = true }) {
  const isAsked = (program, { of }) => of === undefined || of.includes(program);
  const used = Object.entries(commands).filter(([name]) => questions.some((question) => isAsked(name, question)));
  const programs = used.map(([name, command]) => ({ name, child: new Responder(name, command) }));
  const answers = Object.fromEntries(programs.map(({ name }) => [name, {}]));
  try {
    for (let round = warmUp ? -1 : 0; round < rounds; round++) {
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
 * One field of all answers.
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
