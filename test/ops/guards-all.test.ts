/** Each condition of codegen/spec/guards is tried: by guards.json, which Python dies of, or by a call below, with the reason. */
import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { parse } from 'yaml';
import { release } from '../support/release';
import { counts, thrown, torch, untyped } from '../support/torch';

const SPEC = path.join(__dirname, '..', '..', 'codegen', 'spec', 'guards');
interface Guard {
  ops: string[];
}
const guards = readdirSync(SPEC)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => (parse(readFileSync(path.join(SPEC, file), 'utf8')) as { guards?: Guard[] }).guards ?? []);
const { aten } = untyped.ops;

/** By what Python would do, instead of ending at once: an op of each condition, its call, and what the message says. */
const direct: Record<string, Record<string, [call: () => unknown, message: string, releases?: string[]]>> = {
  'take the first byte of each number for a bool': {
    'masked_fill.Scalar': [() => torch.ones([2]).maskedFill(untyped.tensor([1, 0]), 0), 'mask: expected'],
    'masked_fill.Tensor': [
      () => aten.masked_fill.Tensor(torch.ones([2]), torch.ones([2]), torch.ones([])),
      'got float32',
    ],
    'masked_fill_.Scalar': [
      () => torch.ones([2]).maskedFill_(untyped.tensor([256n, 0n]), 0),
      'expected bool or uint8 (t.ne(0) makes one), got int64',
    ],
    'masked_fill_.Tensor': [() => torch.ones([2]).maskedFill_(untyped.ones([2]), torch.ones([])), 'mask: expected'],
    masked_scatter: [() => torch.ones([2]).maskedScatter(torch.ones([2]), torch.zeros([2])), 'mask: expected'],
    masked_scatter_: [() => torch.ones([2]).maskedScatter_(torch.ones([2]), torch.zeros([2])), 'mask: expected'],
  },
  'never come back': {
    linalg_matrix_power: [() => torch.linalg.matrixPower(torch.eye(2), -(2n ** 63n)), 'n: expected'],
    binomial: [() => torch.binomial(torch.full([1], Number.NaN), torch.ones([1])), 'count: expected'],
    special_chebyshev_polynomial_t: [
      () => aten.special_chebyshev_polynomial_t.default(torch.ones([1]), torch.full([1], 2 ** 21)),
      'n: expected',
      ['1.13', '2.6'],
    ],
    special_laguerre_polynomial_l: [
      () => aten.special_laguerre_polynomial_l.default(torch.ones([1]), torch.full([1], 2 ** 21)),
      'n: expected',
    ],
    'special_laguerre_polynomial_l.n_scalar': [
      () => aten.special_laguerre_polynomial_l.n_scalar(torch.ones([1]), 2 ** 21),
      'n: expected',
    ],
  },
  "take all the machine's memory (result-counts.test.ts has more)": {
    chunk: [() => torch.zeros([0]).chunk(2 ** 31), 'chunks: expected'],
    'tensor_split.sections': [() => torch.zeros([3]).tensorSplit(2 ** 31), 'sections: expected'],
    'tensor_split.tensor_indices_or_sections': [
      () => aten.tensor_split.tensor_indices_or_sections(torch.zeros([3]), torch.tensor(2 ** 31, { dtype: 'int64' })),
      'tensorIndicesOrSections: expected',
    ],
    'hsplit.int': [() => torch.zeros([0]).hsplit(2 ** 31), 'sections: expected'],
    'split.Tensor': [
      () =>
        torch
          .zeros([1])
          .expand([2 ** 31])
          .split(1),
      'splitSize: expected',
    ],
    'unbind.int': [
      () =>
        torch
          .zeros([1])
          .expand([2 ** 31])
          .unbind(),
      'self: expected',
    ],
    combinations: [() => untyped.combinations(torch.ones([1]), 2 ** 31, true), 'r: expected'],
  },
  'end, or give an error, by what the memory of others holds, or by the number of threads': {
    gather_backward: [
      () => aten.gather_backward.default(torch.ones([2, 2]), csr(), 0, zeros([2, 2]), true),
      'self: exp',
    ],
    _gather_sparse_backward: [
      () => aten._gather_sparse_backward.default(csr(), 0, zeros([2, 2]), torch.ones([2, 2])),
      'self: expected',
    ],
    'index.Tensor': [() => aten.index.Tensor(torch.ones([2, 2]), [withoutMemory()]), 'indices: expected'],
    _masked_softmax_backward: [
      () => aten._masked_softmax_backward.default(...[empty(), empty(), empty().bool(), 1]),
      'gradOutput: expected',
    ],
    'gradient.scalarrayint': [() => untyped.gradient(torch.ones([2, 3, 4]), { spacing: [1] }), 'spacing: expected'],
    as_strided: [() => torch.asStrided(torch.ones([1]), [1], [0], 2n ** 62n), 'storageOffset: expected'],
    'set_.source_Storage_storage_offset': [
      () => aten.set_.source_Storage_storage_offset(torch.ones([1]), torch.ones([64]).storage(), 64, [1]),
      'storageOffset: expected',
    ],
    'embedding_bag.padding_idx': [
      () =>
        aten.embedding_bag.padding_idx(
          ...[torch.ones([3, 2]), zeros([2]), torch.tensor([0n, 1n]), false, 0, false, null, true, 0],
        ),
      'offsets: expected',
    ],
    'set_.source_Storage': [
      () => aten.set_.source_Storage(torch.ones([1]), withoutMemory().storage()),
      'source: expected a storage with memory',
    ],
    pdist: [() => torch.pdist(torch.zeros([0, 3], { requiresGrad: true })), 'self: expected'],
  },
  "end in a graph (libtorch 2's autograd reads past the shorter list)": {
    '_foreach_add.List': foreach('_foreach_add', 'List', ones),
    '_foreach_add.ScalarList': foreach('_foreach_add', 'ScalarList', () => [1]),
    '_foreach_pow.List': foreach('_foreach_pow', 'List', ones),
    '_foreach_addcdiv.Scalar': foreach('_foreach_addcdiv', 'Scalar', ones, ones),
    '_foreach_addcdiv.ScalarList': foreach('_foreach_addcdiv', 'ScalarList', ones, ones, () => [1]),
    '_foreach_lerp.Scalar': foreach('_foreach_lerp', 'Scalar', ones, () => 1),
    '_foreach_lerp.ScalarList': foreach('_foreach_lerp', 'ScalarList', ones, () => [1]),
    '_foreach_lerp.List': foreach('_foreach_lerp', 'List', ones, ones),
    _foreach_copy_: foreach('_foreach_copy_', 'default', ones),
    _foreach_mm: foreach('_foreach_mm', 'default', ones),
  },
  'end, by an integer that guards.json does not carry': {
    bincount: [() => torch.bincount(torch.tensor([0n, 2n ** 63n - 1n])), 'self: expected numbers below 2^63 - 1'],
  },
  "end, by names, which Python's torch.ops does not take": {
    'sort.dimname_values': [
      () => {
        const both = zeros([2, 2]);
        return aten.sort.dimname_values(named(), 'A', false, { values: both, indices: both });
      },
      'indices: expected',
    ],
    'kthvalue.dimname_out': [
      () => {
        const self = named();
        return aten.kthvalue.dimname_out(self, 1, 'A', false, { values: zeros([0]), indices: self });
      },
      'indices: expected',
    ],
    'flatten.named_out_dim': [() => aten.flatten.named_out_dim(named(), 5, 7, 'A'), 'endDim: expected'],
    'cat.names': [() => aten.cat.names([], 'A'), 'tensors: expected'],
    'align_to.ellipsis_idx': [() => aten.align_to.ellipsis_idx(named(), ['A'], 4096), 'ellipsisIdx: expected'],
  },
};

function zeros(shape: number[]) {
  return torch.zeros(shape, { dtype: 'int64' });
}
function csr() {
  return torch.ones([2, 2]).toSparseCsr();
}
function empty() {
  return torch.ones([3, 0]);
}
function ones() {
  return [torch.ones([2, 2])];
}
function named() {
  return torch.ones([2, 2], { dtype: 'int64' }).rename('A', 'B');
}
function withoutMemory() {
  return aten._efficientzerotensor.default([2, 2], { dtype: 'int64' });
}
/** With two tensors, and lists of one. */
function foreach(op: string, overload: string, ...others: (() => unknown)[]): [() => unknown, string] {
  const pair = () => [torch.ones([2, 2]), torch.ones([2, 2])];
  return [
    () => aten[op][overload](pair(), ...others.map((other) => other())),
    'expected 2 (one for each tensor of self)',
  ];
}

test('each condition is tried', () => {
  const calls = JSON.parse(readFileSync(path.join(__dirname, 'guards.json'), 'utf8')) as Record<string, string>[];
  const names = calls.map(({ name, overload }) => (overload === 'default' ? name : `${name}.${overload}`));
  const tried = new Set([...names, ...Object.values(direct).flatMap(Object.keys)]);
  expect(guards.length).toBeGreaterThan(180);
  expect(guards.filter(({ ops }) => !ops.some((op) => tried.has(op))).map(({ ops }) => ops[0])).toEqual([]);
});

describe.each(Object.entries(direct))('calls that would %s', (_, calls) => {
  const exist = Object.entries(calls).filter(([name, [, , releases = [release]]]) => {
    const [op, overload = 'default'] = name.split('.');
    return aten[op!]?.[overload] !== undefined && releases.includes(release);
  });
  const given: [string, () => unknown, string][] = exist.map(([name, [call, message]]) => [name, call, message]);
  if (given.length === 0) return;
  test.each(given)('%s', (name, call, message) => {
    const before = counts();
    const error = torch.scope(() => thrown(call));
    expect(error.code).toBe('ERR_TORCH_RUNTIME');
    expect(error.message).toMatch(new RegExp(`^aten::${name.split('.')[0]}`));
    expect(error.message).toContain(message);
    expect(counts()).toEqual(before);
  });
});

test('zeros without memory or elements cannot grow', () => {
  const before = counts();
  torch.scope(() => {
    const none = aten._efficientzerotensor.default([0], { dtype: 'float32' });
    const x = torch.ones([3]);
    for (const grow of [
      () => none.resize_([25]),
      () => aten.set_.source_Tensor_storage_offset(x, none, 0, [25], [1]),
      () => aten.set_.source_Storage_storage_offset(x, none.storage(), 0, [25], [1]),
      () => aten.set_.source_Storage(x, none.storage()),
    ]) {
      expect(thrown(grow).message).toMatch(/expected .+, got /);
    }
    expect(x.toArray()).toEqual([1, 1, 1]);
  });
  expect(counts()).toEqual(before);
});
