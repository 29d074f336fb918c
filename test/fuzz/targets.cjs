/** What the fuzzer calls: operators, functions and methods, each with a signature or, if hand-written, without one. */
'use strict';

const path = require('node:path');
const { fileTargetsOf } = require('./file-targets.cjs');
const { wrapperTables } = require('../support/wrappers.cjs');

/** Functions that are left out, because calling them does not test a tensor, by reason. */
const LEFT_OUT = {
  'changes settings that other calls of the process would meet':
    'setMemoryLimit setDefaultDtype setNumThreads setNumInteropThreads setPrintOptions setAllocationThreshold setFlushDenormal ' +
    'setDeterministicDebugMode useDeterministicAlgorithms setFloat32MatmulPrecision setRngState setGradEnabled openScope',
  'takes functions or objects of the program': 'run scope Scope',
  'makes objects that are freed by other means': 'share fromShared SharedToken ScriptModule Generator',
};
const leftOut = new Set(Object.values(LEFT_OUT).join(' ').split(' '));

/** Left out of torch.ops.aten. */
const OPS_LEFT_OUT = {
  'sets what other calls of the process would meet': /^(_set_\w+|_cufft_set\w*|_nnpack_\w+|set_grad_enabled)$/,
};
const opLeftOut = (name) => Object.values(OPS_LEFT_OUT).some((pattern) => pattern.test(name));

const at = (torch, space) => space.split('.').reduce((found, part) => found[part], torch);

/** All targets, in the same order in each process with this libtorch. */
function targetsOf(lib) {
  const torch = require(path.join(lib, 'index.js'));
  const { raw } = require(path.join(lib, 'generated/raw.js'));
  const { signature } = require(path.join(lib, 'call/signature.js'));
  const { signaturesOf, wrappers } = wrapperTables(lib);
  const ops = [];
  for (const [name, overloads] of Object.entries(raw.aten)) {
    if (opLeftOut(name)) continue;
    for (const [overload, number] of Object.entries(overloads)) {
      const fn = torch.ops.aten[name][overload];
      ops.push({ name: `aten.${name}.${overload}`, kind: 'ops', raw: true, fn, params: signature(number).params });
    }
  }
  const functions = [];
  const methods = [];
  for (const { space, name, fn, mirrored } of wrappers()) {
    if (leftOut.has(name) || /^class\b/.test(String(fn))) continue;
    const signatures = signaturesOf(space, name, fn);
    const list = space === 'Tensor' ? methods : functions;
    const full = `${space === '' ? 'torch' : space}.${name}`;
    if (signatures.length === 0) list.push({ name: full, kind: 'written', fn, method: space === 'Tensor' });
    for (const { params, self } of signatures) {
      // A method's self is the first of its values, wherever the schema has it.
      const method = space === 'Tensor';
      const rest = method && self > 0 ? [params[self], ...params.filter((_, i) => i !== self)] : params;
      const kind = space === 'Tensor' ? 'methods' : space === 'nn.functional' ? 'nn.functional' : 'functions';
      list.push({ name: full, kind, fn, method, params: rest, async: mirrored });
    }
  }
  for (const space of ['npy', 'npz', 'safetensors', 'autograd', 'utils', 'nested']) {
    for (const [name, fn] of Object.entries(at(torch, space))) {
      if (typeof fn !== 'function' || /^class\b/.test(String(fn)) || leftOut.has(name)) continue;
      functions.push({ name: `${space}.${name}`, kind: 'written', fn });
    }
  }
  return [...ops, ...functions, ...methods, ...fileTargetsOf(lib, torch).targets];
}

/** The targets by name; a name with several signatures has one of them, because a plan has its values. */
const byName = (targets) => new Map(targets.map((target) => [target.name, target]));

module.exports = { byName, targetsOf };
