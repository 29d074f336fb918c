/** Python's side of these tests: one process answers everything a file asks. */
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { ROOT, torch, untyped } from '../support/torch';

export async function oracle(asked: object): Promise<any> {
  const script = path.join(ROOT, 'test/optim/oracle.py');
  const { stdout, stderr, code } = await python3([script], {
    input: JSON.stringify(asked),
    limitMs: 850_000,
  });
  const line = /^ANSWER (.*)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`the PyTorch oracle failed (${code}): ${stderr}`);
  return JSON.parse(line);
}

const number = (value: number) =>
  Number.isFinite(value) ? value : String(value).replace('Infinity', 'inf').toLowerCase();

/** The form in which oracle.py prints values. */
export function plain(value: unknown): unknown {
  if (value instanceof torch.Tensor) {
    const dense = value.detach();
    const flat = (dense.isComplex() ? dense.viewAsReal() : dense).flatten().toArray() as number[];
    return { dtype: value.dtype, shape: value.shape, data: flat.map(number) };
  }
  if (typeof value === 'number') return number(value);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), plain(item)]));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  }
  return value;
}

export const camelCase = (name: string): string =>
  name.replace(/(?<=.)_([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A tensor among the options that optim_db.py prints. */
const tensorOr = (value: any): unknown => {
  if (typeof value !== 'object' || value === null || value.tensor === undefined) return value;
  const { data, dtype, shape } = value.tensor;
  return untyped.tensor(data, { dtype }).reshape(shape);
};

/** Options by their names here. */
export const optionsOf = (options: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [camelCase(name), tensorOr(value)]));
