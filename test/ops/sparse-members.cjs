/**
 * Indices of sparse tensors that the program changes after libtorch has checked them: through indices() and crowIndices(), through
 * the tensor that they were made from, and in the memory of a typed array. Prints how each call ended; a wrong one ends the process.
 * Usage: node FILE LIB.
 */
'use strict';

const torch = require(process.argv[2]);

const long = (values) => torch.tensor(values, { dtype: 'int64' });
const offsets = () => long([0, 1, 2]);
const compressed = { csr: 'sparseCsrTensor', csc: 'sparseCscTensor', bsr: 'sparseBsrTensor', bsc: 'sparseBscTensor' };
const valuesOf = (kind) => torch.ones(kind.startsWith('bs') ? [2, 2, 3] : [2]);
/** Blocks of 2 by 3. */
const sizesOf = (kind) => (kind.startsWith('bs') ? [4, 6] : [2, 2]);
const made = (kind, at, plain) => torch[compressed[kind]](at, plain, valuesOf(kind), sizesOf(kind));

/** Each gives a sparse tensor and one of its members. */
const members = {
  'coo, indices()': () => {
    const sparse = torch
      .sparseCooTensor(
        long([
          [0, 1],
          [1, 0],
        ]),
        torch.ones([2]),
        [2, 2],
      )
      .coalesce();
    return [sparse, sparse.indices()];
  },
  'coo, made from': () => {
    const indices = long([
      [0, 1],
      [1, 0],
    ]);
    return [torch.sparseCooTensor(indices, torch.ones([2]), [2, 2]), indices];
  },
  'coo, typed array': () => {
    const indices = torch.fromTypedArray(new BigInt64Array(4), [2, 2]);
    return [torch.sparseCooTensor(indices, torch.ones([2]), [2, 2]), indices];
  },
};
for (const kind of Object.keys(compressed)) {
  members[`${kind}, plain`] = () => {
    const plain = long([0, 1]);
    return [made(kind, offsets(), plain), plain];
  };
  members[`${kind}, compressed`] = () => {
    const at = offsets();
    return [made(kind, at, long([0, 1])), at];
  };
}

const calls = {
  toDense: (sparse) => sparse.toDense(),
  mm: (sparse) => sparse.mm(torch.ones([sparse.shape[1], 2])),
  mul: (sparse) => torch.mul(sparse, sparse),
  cat: (sparse) => torch.cat([sparse, sparse]),
};

const ends = {};
const told = ({ code, message }) => `${code} ${message.split('\n')[0]}`;
async function end(name, run) {
  try {
    await torch.scope(run);
    ends[name] = 'a result';
  } catch (error) {
    ends[name] = told(error);
  }
}

async function main() {
  for (const [member, make] of Object.entries(members)) {
    for (const number of [2n ** 40n, -9n, 7n]) {
      for (const [call, fn] of Object.entries(calls)) {
        await end(`${member}: ${call} with ${number}`, () => {
          const [sparse, wrong] = make();
          wrong.fill_(number);
          fn(sparse);
        });
      }
    }
  }
  // Recorded calls, whose arguments change after they were read.
  await end('run: toDense', () =>
    torch.run(() => {
      const [sparse, wrong] = members['coo, indices()']();
      wrong.fill_(2n ** 40n);
      return sparse.toDense();
    }),
  );
  await end('async: toDense', () => {
    const [sparse, wrong] = members['csr, plain']();
    wrong.fill_(2n ** 40n);
    return torch.async.toDense?.(sparse) ?? torch.async.mm(sparse, torch.ones([2, 2]));
  });
  // They can be read, printed and corrected.
  await end('unchanged after all', () => {
    const [sparse] = members['coo, indices()']();
    sparse.indices().fill_(-9n);
    if (!String(sparse).includes('-9')) throw new Error('the indices are not printed');
    sparse.indices().copy_(
      long([
        [0, 1],
        [1, 0],
      ]),
    );
    if (sparse.toDense().sum().item() !== 2) throw new Error('another sum');
  });
  for (const [member, make] of Object.entries(members)) {
    for (const [call, fn] of Object.entries(calls))
      await end(`unchanged, ${member}: ${call}`, () => void fn(make()[0]));
  }
  const int = (values) => torch.tensor(values, { dtype: 'int32' });
  const others = {
    int32: () => torch.sparseCsrTensor(int([0, 1, 2]), int([0, 1]), torch.ones([2]), [2, 2]),
    batch: () =>
      torch.sparseCsrTensor(
        long([
          [0, 1],
          [0, 1],
        ]),
        long([[0], [2]]),
        torch.ones([2, 1]),
        [2, 1, 3],
      ),
    'no rows': () => torch.sparseCsrTensor(long([0]), long([]), torch.ones([0]), [0, 3]),
    'no elements': () => torch.sparseCooTensor(torch.zeros([2, 0], { dtype: 'int64' }), torch.ones([0]), [2, 3]),
    hybrid: () => torch.sparseCooTensor(long([[0, 1]]), torch.ones([2, 3]), [2, 3]),
    'a row for each block': () => torch.ones([4, 6]).toSparse().toDense().toSparseBsr([2, 3]),
  };
  for (const [name, make] of Object.entries(others)) await end(`unchanged, ${name}`, () => void make().mul(2));
  console.log(JSON.stringify({ ends, left: torch.memory().tensors }));
}

main();
