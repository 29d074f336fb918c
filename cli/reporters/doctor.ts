/** The report of `doctor`, as text and as JSON. */

import type { Findings } from '../doctor/examine';
import { type Check, limitAdvice, type Status } from '../doctor/judge';
import type { Remedy } from '../doctor/remedy';
import type { Colors } from '../terminal/colors';
import { jsonText, printable, printableAll } from '../terminal/printable';

const WORDS: Record<Status, string> = { ok: 'ok', note: 'note', problem: 'PROBLEM' };
const NAME_WIDTH = 11;
const WORD_WIDTH = 9;

export function renderChecks(found: Check[], colors: Colors): string {
  const checks = printableAll(found);
  const paint: Record<Status, (text: string) => string> = {
    ok: colors.green,
    note: colors.yellow,
    problem: colors.red,
  };
  const indent = ' '.repeat(WORD_WIDTH + NAME_WIDTH);
  const lines: string[] = [];
  for (const { name, status, summary, details, fix } of checks) {
    lines.push(`${paint[status](WORDS[status].padEnd(WORD_WIDTH))}${name.padEnd(NAME_WIDTH)}${summary}`);
    lines.push(...details.map((line) => colors.dim(`${indent}${line.trim()}`)));
    if (fix !== null) lines.push(`${indent}→ ${fix}`);
  }
  const problems = checks.filter(({ status }) => status === 'problem');
  lines.push(
    '',
    problems.length === 0 ? 'healthy' : `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`,
  );
  // The first problem may have caused the ones after it.
  const first = problems.find(({ fix }) => fix !== null);
  if (first !== undefined) lines.push(`fix ${first.name} first: ${first.fix}`);
  return `${lines.join('\n')}\n`;
}

/** The command of `--fix`, in one line that a shell runs. */
export function renderRemedy(remedy: Remedy | null): string {
  if (remedy === null) return '\nnothing to fix\n';
  const { check, steps, why } = remedy;
  if (why !== null) return `\nno command fixes ${check}: ${printable(why)}\n`;
  return `\nto fix ${check}:\n\n  ${printable(steps.map(({ shown }) => shown).join(' && '))}\n`;
}

/**
 * `{ version, verdict, checks, memoryLimit, remedy, findings }`; `version` increases when the meaning of a field changes.
 * `remedy` is there with `--fix` only.
 */
export function renderChecksJson(checks: Check[], findings: Findings, remedy?: Remedy | null): string {
  const verdict = checks.some(({ status }) => status === 'problem') ? 'problems' : 'healthy';
  const found = limitAdvice(findings);
  const memoryLimit = found === null ? null : { ...found.advice, of: found.of };
  const shown = remedy == null ? remedy : { ...remedy, steps: remedy.steps.map((step) => step.shown) };
  return `${jsonText({ version: 1, verdict, checks, memoryLimit, remedy: shown, findings }, 2)}\n`;
}
