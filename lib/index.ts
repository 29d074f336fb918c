/** The module: hand-written names, generated functions, namespaces, dtypes and torch.ops. */
import './addon/disposal';
import './public/methods';
import { dtypeAliases, dtypes, layouts, memoryFormats } from './addon/enums';
import { lateModule } from './addon/late-module';
import { native, otherAddon } from './addon/native';
import { publics } from './addon/wrappers';
import { asyncPool } from './async/pool';
import { makeAsync, makeRun, registerKinds } from './async/run';
import { classes } from './call/classes';
import { implementLate, publicFunction } from './call/define';
import { spaces } from './call/functions';
import { reportMissingNames } from './call/misses';
import { ops } from './call/raw';
import { camelCase } from './call/signature';
import { passOnWarnings, warn } from './call/warnings';
import * as core from './core';
import { patchAssert } from './equality/assert';
import { patchJest } from './equality/jest';
import { countArguments } from './errors/arity';
import { addLate, makeLateFunctions } from './late';
import { printable } from './libtorch/printable';
import { showInMemoryUsage } from './memory/memory-usage';
import { startDebug } from './observe/debug';
import { startAudit } from './observe/recording';
import { nameTensorMethods } from './tensor/pending-methods';

/** Makes Python's names throw in a namespace and those inside it. torch.ops has libtorch's own names. */
function reportMissingNamesIn(at: string, space: object): void {
  reportMissingNames(at, space, { read: (name) => elsewhere[`${at}.${name}`] });
  reportMissingNamesInside(at, space);
}

/** The same in those inside it, without a use of what is loaded late. */
function reportMissingNamesInside(at: string, space: object): void {
  for (const name of Object.getOwnPropertyNames(space)) {
    const inner: unknown = Object.getOwnPropertyDescriptor(space, name)!.value;
    if (inner === ops || typeof inner !== 'object' || inner === null || !Object.isExtensible(inner)) continue;
    if (Object.getPrototypeOf(inner) === Object.prototype) reportMissingNamesIn(`${at}.${name}`, inner);
  }
}

/** torch.FloatTensor etc., PyTorch's classes from before dtypes. */
const typedClasses = {
  Float: 'float32',
  Double: 'float64',
  Half: 'float16',
  BFloat16: 'bfloat16',
  Byte: 'uint8',
  Char: 'int8',
  Short: 'int16',
  Int: 'int32',
  Long: 'int64',
  Bool: 'bool',
};

const elsewhere: Record<string, string> = {
  'torch.from_numpy': 'torch.from_numpy: write torch.fromTypedArray(array)',
  'torch.fromNumpy': 'torch.fromNumpy: write torch.fromTypedArray(array)',
  'torch.device': "torch.device: devices are strings, as in { device: 'cpu' }",
  ...Object.fromEntries(
    Object.entries(typedClasses).map(([name, dtype]) => {
      return [`torch.${name}Tensor`, `torch.${name}Tensor: write torch.tensor(data, { dtype: '${dtype}' })`];
    }),
  ),
  'torch.version': 'torch.version: write torch.libtorchVersion',
  'torch.__version__': 'torch.__version__: write torch.libtorchVersion',
  'torch.inf': 'torch.inf: write Infinity',
  'torch.nan': 'torch.nan: write NaN',
  'torch.pi': 'torch.pi: write Math.PI',
};

implementLate(lateModule(() => require('./public') as object));

showInMemoryUsage(native);
passOnWarnings(native);
startAudit(native, warn);
if (otherAddon !== undefined)
  warn(
    `this process has loaded another copy of libtorch-node, with the addon ${printable(otherAddon)}. The copies refuse each other's tensors, and torch.memory, torch.setMemoryLimit and leak-audit (run without --follow-children) see the tensors of one copy only. \`npm ls libtorch-node\` shows why there are two`,
    'TORCH_COPIES',
  );
patchJest();
patchAssert();

type Functions = Record<string, unknown>;

/** The hand-written functions. */
const torch = { ...countArguments(core), ...makeLateFunctions() };

const module_: Functions = {};

/** The namespace of a path such as nn.functional: one object per part. */
function spaceAt(path: string): Functions {
  let space = module_;
  for (const part of path === '' ? [] : path.split('.')) {
    space[part] ??= {};
    space = space[part] as Functions;
  }
  return space;
}

for (const [path, functions] of Object.entries(spaces)) {
  // Names with a leading underscore are internal.
  if (!path.startsWith('_')) Object.assign(spaceAt(path), functions);
}
for (const [path, names] of Object.entries(publics)) {
  if (path === 'Tensor') continue;
  const space = spaceAt(path);
  for (const name of Object.keys(names)) space[name] ??= publicFunction(path, name);
}

/** All functions of a namespace and of those inside it. */
const functionsIn = (space: object): object[] =>
  Object.values(space).flatMap((value: unknown) => {
    if (typeof value === 'function') return [value];
    return typeof value === 'object' && value !== null ? functionsIn(value) : [];
  });
const likeOps: readonly object[] = [torch.full, torch.tensor, torch.backward];
registerKinds({
  unrecorded: [torch.scope, torch.noGrad, torch.enableGrad, torch.inferenceMode, torch.autocast, torch.audit.label],
  handWritten: functionsIn(torch).filter((fn) => !likeOps.includes(fn)),
});

// torch.async has the ops, and what is called as an op.
const recordable = { ...module_, full: torch.full, backward: torch.backward, ops };
reportMissingNames('torch.async', recordable);
module_.async = makeAsync(recordable);
module_.run = makeRun(module_);
module_.asyncPool = asyncPool;
nameTensorMethods();

// torch.float32 === 'float32', torch.channelsLast === 'channels_last', torch.sparseCoo === 'sparse_coo'
for (const name of [...dtypes, ...layouts]) module_[camelCase(name)] = name;
for (const [alias, name] of Object.entries(dtypeAliases)) module_[alias] = name;
for (const name of memoryFormats) module_[name.startsWith('channels') ? camelCase(name) : `${name}Format`] = name;

// torch.nn: modules, and the functions of torch.nn.functional.
Object.assign(module_, classes, torch, { ops });
addLate(module_, (at, values) => {
  registerKinds({ unrecorded: at === 'amp' ? [values.autocast as object] : [], handWritten: functionsIn(values) });
  reportMissingNamesInside(`torch.${at}`, values);
});
startDebug(module_);
reportMissingNamesIn('torch', module_);

export = module_;
