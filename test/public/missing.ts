/** The table in docs/from-pytorch.md of names that PyTorch has in Python and that are missing here. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { ROOT } from '../support/torch';

const page = readFileSync(path.join(ROOT, 'docs/from-pytorch.md'), 'utf8');
const section = /^## What is not there yet\n([\s\S]*?)^## /m.exec(page)![1]!;

export interface Row {
  names: string[];
  what: string;
  meanwhile: string;
}
export const rows: Row[] = [...section.matchAll(/^\| (`.*?) \| (.*?) \| (.*?) \|$/gm)].map(
  ([, first, what, meanwhile]) => ({
    names: [...first!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
    what: what!,
    meanwhile: meanwhile!,
  }),
);

/** PyTorch's names in the table, starting with `torch.`. */
export const listed: string[] = rows
  .flatMap(({ names }) => names)
  .map((name) => name.replace(/^Tensor\./, 'torch.Tensor.'));

export const isPattern = (name: string): boolean => /[*[]/.test(name);
const patternOf = (name: string) => new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '[^.]*')}$`);
const patterns = listed.filter(isPattern).map(patternOf);

/** Whether the table has a name such as `torch.nn.Module`, by itself or by a pattern, or the namespace that it is in. */
export function isMissing(name: string): boolean {
  const parts = name.split('.');
  return (
    parts.some((_, i) => listed.includes(parts.slice(0, i + 1).join('.'))) ||
    patterns.some((pattern) => pattern.test(name))
  );
}

/** Whether the table has parts of a namespace. */
export const hasPartsOf = (name: string): boolean => listed.some((other) => other.startsWith(`${name}.`));

/** The names among these that a pattern of the table matches. */
export const fitting = (pattern: string, names: string[]): string[] =>
  names.filter((name) => patternOf(pattern).test(name));
