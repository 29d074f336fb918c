/**
 * A batch job with a memory limit: a chunk that is too large causes an error with a code instead of an out-of-memory kill,
 * and the job retries with half of the chunk. `node examples/batches.js [--limit MB]`
 */
import { parseArgs } from 'node:util';
import torch, { type Tensor, type TorchError } from 'libtorch-node';

const ROWS = 4096;
const COLUMNS = 256;

const isTooLarge = (error: unknown) => (error as Partial<TorchError>).code === 'ERR_TORCH_MEMORY_LIMIT';

/** The nearest other row of each of these rows. All distances are computed at once, which takes rows × ROWS of memory. */
function nearestOf(rows: Tensor<'float32'>, all: Tensor<'float32'>, first: number): Tensor<'int64'> {
  return torch.scope(() => {
    const distances = torch.cdist(rows, all);
    const count = rows.shape[0]!;
    const own = torch.arange(first, first + count).unsqueeze(1);
    return distances.scatter(1, own, Number.POSITIVE_INFINITY).argmin(1);
  });
}

function main(megabytes: number): void {
  torch.manualSeed(6);
  const all = torch.randn([ROWS, COLUMNS]);
  torch.setMemoryLimit(torch.memory().devices.cpu!.allocatedBytes + megabytes * 2 ** 20);
  let size = ROWS;
  let refused = 0;
  const parts: Tensor[] = [];
  for (let first = 0; first < ROWS; ) {
    try {
      const rows = all.narrow(0, first, Math.min(size, ROWS - first));
      parts.push(nearestOf(rows, all, first));
      first += rows.shape[0]!;
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      refused++;
      size = Math.floor(size / 2);
    }
  }
  const nearest = torch.cat(parts);
  // Rows that are the nearest of their nearest
  const mutual = nearest.indexSelect(0, nearest).eq(torch.arange(ROWS)).sum().item();
  console.log(`within ${megabytes} MB: ${parts.length} chunks of at most ${size} rows, ${refused} refused on the way`);
  console.log(`${nearest.numel} rows, ${mutual} of them in pairs`);
}

const { values } = parseArgs({ options: { limit: { type: 'string', default: '32' } } });
main(Number(values.limit));
