/**
 * Calls every op of a range of rows in every variant of its arguments, and prints each call before making it, so that the
 * parent knows which call crashed the process. Prints one JSON line per op: results, error codes, faults.
 *
 *   call-all.cjs LIB {"first": row, "end": row, "skip": ["op variant"], "only": ["op variant"], "describe": true}
 *
 * `describe` prints the arguments of the calls in `only` as JSON, a line each, instead of making them.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { argumentMaker, variants } = require('../support/arguments.cjs');

const [lib, optionText] = process.argv.slice(2);
const { first = 0, end = 1e6, skip = [], only, describe = false } = JSON.parse(optionText);
const skipped = new Set(skip);
const chosen = only === undefined ? undefined : new Set(only);
const { torch, values, rawCall, release } = argumentMaker(lib);
const { native } = require(path.join(lib, 'addon/native.js'));
const { raw } = require(path.join(lib, 'generated/raw.js'));
const { signature } = require(path.join(lib, 'call/signature.js'));
const { Tensor } = torch;

/** An op's name in messages: `_backward` appears as the method by which programs call it. */
const nameOf = (key) => (key === '_backward.default' ? 'backward' : `aten::${key.replace(/\.default$/, '')}`);

const say = (text) => fs.writeSync(1, `${text}\n`);
const held = () => {
  const { tensors, storages, bytes } = torch.memory();
  return `${tensors} tensors, ${storages} storages, ${bytes} bytes`;
};

/** Distinct live tensors in a value. */
function tensorsIn(value, found = new Set()) {
  if (value instanceof Tensor) {
    if (!value.disposed) found.add(value);
  } else if (Array.isArray(value)) for (const item of value) tensorsIn(item, found);
  return found;
}

/** The bytes of the distinct storages behind the tensors, from libtorch; -1 if one does not have its own storage. */
function trueBytes(tensors) {
  const distinct = new Set();
  let bytes = 0;
  for (const tensor of tensors) {
    if (tensor.layout !== 'strided' || tensor.device !== 'cpu') return -1;
    const storage = native.storageKey(tensor._handle);
    if (distinct.has(storage)) continue;
    distinct.add(storage);
    try {
      // Autograd's zeros have sizes but not memory.
      bytes += torch.ops.aten._is_zerotensor.default(tensor) ? 0 : tensor.storageBytes;
    } catch {
      return -1;
    }
  }
  return bytes;
}

/** A value as plain data, from which another process can make the same one. */
function plain(value, named) {
  if (Array.isArray(value)) return value.map((item) => plain(item, named));
  if (value instanceof torch.Generator) return { generator: true };
  if (value instanceof torch.Complex) return { re: value.re, im: value.im };
  if (value instanceof torch.Stream) return { stream: true };
  if (!(value instanceof Tensor)) return value === undefined ? { none: true } : value;
  const sparse = value.layout === 'sparse_coo';
  const quantized = value.dtype.startsWith('q');
  const unnamed = () => (value.rename ? value.rename(null) : value);
  const dense = sparse ? value.toDense() : quantized ? value.dequantize() : unnamed();
  const complex = dense.dtype === 'complex64';
  const data = (complex ? torch.viewAsReal(dense) : dense).toArray();
  return {
    tensor: data,
    shape: dense.shape,
    dtype: dense.dtype,
    sparse,
    quantized,
    names: named && value.rename !== undefined && dense.dtype === 'float32',
  };
}

const all = Object.entries(raw.aten).flatMap(([name, overloads]) =>
  Object.entries(overloads).map(([overload, number]) => ({ name, overload, number, key: `${name}.${overload}` })),
);

torch.manualSeed(1);
for (let i = first; i < Math.min(all.length, end); i++) {
  const { name, overload, number, key } = all[i];
  const op = torch.ops.aten[name][overload];
  const report = { row: i, key, ok: 0, errors: 0, faults: [] };
  for (let v = 0; v < variants.length * 2; v++) {
    const call = `${key} ${v}`;
    if (skipped.has(call) || skipped.has(key) || (chosen !== undefined && !chosen.has(call))) continue;
    const variant = variants[v >> 1];
    if (!describe) say(`> ${i} ${call}`);
    const before = held();
    const beforeBytes = torch.memory().bytes;
    if (describe) torch.manualSeed(1); // the same arguments, whichever calls are chosen
    const list = values(signature(number), variant, v % 2 === 1);
    if (describe) {
      const args = list.map((value, p) => ({
        name: signature(number).params[p].name,
        value: plain(value, variant.names !== undefined),
      }));
      say(
        JSON.stringify({
          ...{ call, name, overload, args },
          keyword: signature(number).params.map((p) => p.keywordOnly || p.out),
        }),
      );
      release(list);
      continue;
    }
    let result;
    try {
      result = op(...rawCall(signature(number), list));
      report.ok++;
    } catch (error) {
      report.errors++;
      if (!String(error.code).startsWith('ERR_TORCH_')) report.faults.push(`${call}: no code: ${error.stack}`);
      else if (['ERR_TORCH_OVERLOAD', 'ERR_TORCH_ARGUMENT'].includes(error.code)) {
        report.faults.push(`${call}: valid arguments are refused: ${error.message}`);
      } else if (!error.message.startsWith(`${nameOf(key)}: `)) {
        report.faults.push(`${call}: the message does not name the op: ${error.message}`);
      }
    }
    const live = tensorsIn([list, result]);
    const bytes = trueBytes(live);
    const counted = torch.memory().bytes - beforeBytes;
    if (bytes >= 0 && counted !== bytes)
      report.faults.push(`${call}: storages of ${bytes} bytes are counted as ${counted}`);
    release(list);
    torch.disposeAll(result);
    if (held() !== before) report.faults.push(`${call}: ${before} before, ${held()} after`);
    if (native.reportedBytes() !== torch.memory().bytes) {
      report.faults.push(`${call}: V8 was told ${native.reportedBytes()} of ${torch.memory().bytes} bytes`);
    }
  }
  if (!describe) say(JSON.stringify(report));
}
global.gc();
say(`end ${held()}`);
