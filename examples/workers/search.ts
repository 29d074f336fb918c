/**
 * Four threads search one matrix without copying it: the main thread shares 128 MB of vectors, each worker finds those
 * nearest to its questions and posts the indices back as tokens. `node examples/workers/search.js`
 */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import torch from 'libtorch-node';

const THREADS = 4;
const VECTORS = 131_072;
const SIZE = 256;

interface Task {
  vectors: torch.SharedTensor;
  questions: torch.SharedTensor;
}

/** Runs in a worker: the nearest vector of each question, by inner product. */
function search({ vectors, questions }: Task): torch.SharedToken {
  return torch.scope(() => {
    const scores = torch.fromShared(questions).mm(torch.fromShared(vectors).t());
    return scores.argmax(1).share();
  });
}

/** Runs in the main thread: passes each worker the same vectors and an equal part of the questions. */
async function main(): Promise<void> {
  torch.setNumThreads(1); // the workers are the threads
  const vectors = torch.scope(() => torch.randn([VECTORS, SIZE]).div(16));
  const wanted = torch.randint(VECTORS, [THREADS, 8]);
  const noise = torch.randn([SIZE]).mul(0.01);
  const vectorsToken = vectors.share();
  const answers = await Promise.all(
    Array.from({ length: THREADS }, async (_, i) => {
      const questions = torch.scope(() => vectors.indexSelect(0, wanted.at(i)).add(noise).share());
      const worker = new Worker(__filename, { workerData: { vectors: vectorsToken, questions } satisfies Task });
      const [found] = (await once(worker, 'message')) as [torch.SharedTensor];
      return torch.fromShared(found);
    }),
  );
  const right = torch.stack(answers).eq(wanted).sum().item();
  const { allocatedBytes } = torch.memory();
  const megabytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`;
  console.log(`${right} of ${wanted.numel} questions answered correctly by ${THREADS} threads`);
  console.log(`vectors: ${megabytes(vectors.nbytes)}, allocated in the whole process: ${megabytes(allocatedBytes)}`);
}

if (isMainThread) void main();
else parentPort!.postMessage(search(workerData as Task));
