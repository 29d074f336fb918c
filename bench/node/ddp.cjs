/**
 * One of the two ranks of training steps with DistributedDataParallel. A line "NET STEPS" is answered with the time of a step;
 * both ranks get the same lines (bench/support/pair.mjs).
 */
'use strict';

const { createInterface } = require('node:readline');
const torch = require('libtorch-node');

const { nn } = torch;
torch.setNumThreads(1);

const nets = {
  cnn: () => [
    new nn.Sequential(
      new nn.Conv2d(1, 8, 3, { padding: 1 }),
      new nn.ReLU(),
      new nn.MaxPool2d(2),
      new nn.Conv2d(8, 16, 3, { padding: 1 }),
      new nn.ReLU(),
      new nn.MaxPool2d(2),
      new nn.Flatten(),
      new nn.Linear(256, 10),
    ),
    torch.randn([64, 1, 16, 16]),
  ],
  // 5.6 MB of gradients.
  mlp: () => [
    new nn.Sequential(
      new nn.Linear(784, 1024),
      new nn.ReLU(),
      new nn.Linear(1024, 512),
      new nn.ReLU(),
      new nn.Linear(512, 10),
    ),
    torch.randn([64, 784]),
  ],
};

function stepOf([net, x]) {
  const model = new nn.parallel.DistributedDataParallel(net, { bucketCapMb: 1 });
  const optimizer = new torch.optim.SGD(model.parameters(), { lr: 1e-3, momentum: 0.9 });
  const labels = torch.arange(x.shape[0]).remainder(10);
  return () =>
    torch.scope(() => {
      optimizer.zeroGrad();
      nn.functional.crossEntropy(model.forward(x), labels).backward();
      optimizer.step();
    });
}

async function main() {
  await torch.distributed.initProcessGroup();
  const steps = {};
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, count] = line.split(' ');
    steps[name] ??= stepOf(nets[name]());
    const [began, cpu] = [process.hrtime.bigint(), process.cpuUsage()];
    for (let i = 0; i < Number(count); i++) steps[name]();
    const ns = Number(process.hrtime.bigint() - began) / Number(count);
    const { user, system } = process.cpuUsage(cpu);
    console.log(JSON.stringify({ ns, cpu: ((user + system) * 1000) / Number(count) }));
  }
  await torch.distributed.destroyProcessGroup();
}
main();
