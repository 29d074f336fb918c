/** What DistributedDataParallel refuses, in a group of two. Prints the codes and messages by case. */
'use strict';
const torch = require(process.env.LIB);

const { nn } = torch;
const { DistributedDataParallel } = nn.parallel;

async function main() {
  const outcomes = {};
  const note = (name, fn) => {
    try {
      fn();
      outcomes[name] = 'no error';
    } catch (error) {
      outcomes[name] = `${error.code}: ${error.message}`;
    }
  };
  const net = () => new nn.Linear(3, 2);
  note('no group', () => new DistributedDataParallel(net()));
  await torch.distributed.initProcessGroup({ timeoutMs: 60_000 });
  const rank = torch.distributed.getRank();
  note('no module', () => new DistributedDataParallel({}));
  note('unknown option', () => new DistributedDataParallel(net(), { bucketCapMB: 1 }));
  note('bucketCapMb', () => new DistributedDataParallel(net(), { bucketCapMb: 0 }));
  note('flag', () => new DistributedDataParallel(net(), { staticGraph: 1 }));
  note('group', () => new DistributedDataParallel(net(), { processGroup: {} }));
  note('frozen', () => new DistributedDataParallel(net().requiresGrad_(false)));
  note('lazy', () => new DistributedDataParallel(new nn.LazyLinear(2)));
  const ddp = new DistributedDataParallel(net(), { findUnusedParameters: true });
  await torch.run(() => note('in torch.run', () => ddp.forward(torch.ones([1, 3]))));
  note('copy', () => ddp.deepCopy());
  note('noSync', () => ddp.noSync(1));
  ddp.dispose();
  note('disposed', () => ddp.forward(torch.ones([1, 3])));
  const before = torch.memory().tensors;
  note('shapes', () => new DistributedDataParallel(new nn.Linear(3, 2 + rank)));
  console.log(JSON.stringify({ rank, outcomes, leftAtMost2: torch.memory().tensors - before <= 2 }));
  await torch.distributed.destroyProcessGroup();
}
main();
