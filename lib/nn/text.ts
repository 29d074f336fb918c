/** Modules as text, as Python prints them. */
import { codedError } from '../errors/errors';
import type { Module } from './module';

const indented = (text: string) => text.replaceAll('\n', '\n  ');

/** `Net(\n  (fc): Linear(…)\n)` */
export function textOf(module: Module, around: readonly Module[] = []): string {
  if (around.includes(module)) {
    throw codedError(
      TypeError,
      'ERR_TORCH_ARGUMENT',
      `${module.constructor.name}: expected a tree of modules, got a cycle`,
    );
  }
  const inner = [...around, module];
  const extra = module.extraRepr();
  const lines = childLines(module, inner);
  const name = module.constructor.name;
  if (extra === '' && lines.length === 0) return `${name}()`;
  if (lines.length === 0 && !extra.includes('\n')) return `${name}(${extra})`;
  const all = [...(extra === '' ? [] : extra.split('\n')), ...lines];
  return `${name}(\n  ${all.join('\n  ')}\n)`;
}

function childLines(module: Module, inner: readonly Module[]): string[] {
  const texts = module
    ._children(false)
    .map(([key, child]): [string, string] => [module._keyOf(key), indented(textOf(child, inner))]);
  return module._lines(texts);
}
