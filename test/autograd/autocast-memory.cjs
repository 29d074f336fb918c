/** The bytes that casted weights add to what libtorch holds, inside regions and after them. autocast-memory.cjs LIB */
'use strict';
const path = require('node:path');
const vm = require('node:vm');
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const lib = isMainThread ? process.argv[2] : workerData;
const torch = require(path.join(lib, 'index.js'));
torch.setNumThreads(1);

const cpu = { device: 'cpu' };
const x = torch.ones([2, 512]);
const w = torch.ones([512, 512], { requiresGrad: true });
const use = () => torch.scope(() => void x.mm(w));
const held = () => torch.memory().allocatedBytes;
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function inWorker() {
  torch.autocast(cpu, async () => {
    use();
    await new Promise(() => setInterval(() => {}, 1000)); // terminated here
  });
  require('node:worker_threads').parentPort.postMessage('open');
}

async function main() {
  use();
  await torch.scope(async () => void (await torch.async.mm(x, w)));
  const before = held();
  const steps = {};
  const note = (name) => {
    steps[name] = held() - before;
  };
  const casted = torch.autocast(cpu, () => {
    use();
    torch.autocast({ ...cpu, enabled: false }, use);
    torch.autocast(cpu, use);
    return held() - before;
  });
  note('region');
  torch.autocast({ ...cpu, cacheEnabled: false }, () => {
    use();
    note('without a cache');
  });
  try {
    torch.autocast(cpu, () => {
      use();
      throw new Error('from the program');
    });
  } catch {}
  note('exception');
  await torch.autocast(cpu, async () => {
    use();
    await turn();
    use();
  });
  note('async region');
  await torch.scope(() => torch.autocast(cpu, async () => void (await torch.async.mm(x, w))));
  note('torch.async');
  await torch.scope(async () => void (await torch.autocast(cpu, () => torch.run(() => x.mm(w).mm(w)))));
  note('torch.run');
  vm.runInNewContext('f()', {
    f: () => {
      try {
        vm.runInNewContext(
          'autocast(() => { use(); for (;;); })',
          { use, autocast: (fn) => torch.autocast(cpu, fn) },
          { timeout: 50 },
        );
      } catch {}
    },
  });
  await turn();
  note('cut off');
  if (torch.autocast({ ...cpu, enabled: false }, () => torch.isAutocastCpuEnabled())) throw new Error('still on');
  // An async region that never ends, and that nothing refers to.
  void (() =>
    torch.autocast(cpu, async () => {
      use();
      await new Promise(() => {});
    }))();
  for (let i = 0; i < 200 && held() !== before; i++) {
    await turn();
    globalThis.gc();
  }
  note('abandoned');
  const worker = new Worker(__filename, { workerData: lib });
  await new Promise((resolve) => worker.once('message', resolve));
  await worker.terminate();
  for (let i = 0; i < 200 && held() !== before; i++) {
    await turn();
    globalThis.gc();
  }
  note('worker that was terminated');
  console.log(JSON.stringify({ casted, steps }));
}

(isMainThread ? main() : inWorker()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
