/** The module: hand-written names, generated functions, namespaces, dtypes and torch.ops. */
import './methods';
import { startAudit } from './audit';
import { startDebug } from './debug';
import { dtypes, layouts, memoryFormats } from './enums';
import { showInMemoryUsage } from './memory-usage';
import { native } from './native';
import { NativeObject } from './object';
import { ops } from './raw';
import { callFunction, callObject, construct, f, isInts, isNumbers, packed, results } from './runtime';
import { camelCase } from './signature';
import { Tensor, wrap } from './tensor';
import * as torch from './torch';
import { passOnWarnings } from './warnings';
import { makeClasses, makeFunctions } from './wrappers';

showInMemoryUsage(native);
passOnWarnings(native);
startAudit(native);

type Functions = Record<string, (...args: never[]) => unknown>;

const spaces = makeFunctions(f, { Tensor, wrap, results, isInts, isNumbers, packed, callFunction });
const module_: Record<string, unknown> = { ...(spaces[''] as Functions) };

/** torch.nn.functional and its like: one object per part of the path. */
for (const [path, functions] of Object.entries(spaces)) {
  if (path === '') continue;
  const parts = path.split('.');
  let space = module_;
  for (const part of parts.slice(0, -1)) {
    space[part] ??= {};
    space = space[part] as Record<string, unknown>;
  }
  const name = parts[parts.length - 1]!;
  space[name] = Object.assign((space[name] as Functions | undefined) ?? {}, functions);
}

// torch.float32 === 'float32', torch.channelsLast === 'channels_last', torch.sparseCoo === 'sparse_coo'
for (const name of [...dtypes, ...layouts]) module_[camelCase(name)] = name;
for (const name of memoryFormats) module_[name.startsWith('channels') ? camelCase(name) : `${name}Format`] = name;

Object.assign(module_, makeClasses({ NativeObject, construct, callObject }), torch, { ops });
startDebug(module_);

export = module_;
