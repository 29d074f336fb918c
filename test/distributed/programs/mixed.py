"""The Python rank of mixed.mjs."""
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

method, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group('gloo', init_method=method, rank=rank, world_size=size, timeout=timedelta(seconds=60))


def same(tensor, values):
    assert tensor.flatten().tolist() == values, (tensor, values)


t = torch.full((4,), float(rank + 1))
dist.all_reduce(t)
same(t, [3.0] * 4)
dist.broadcast(t.fill_(rank), 1)
same(t, [1.0] * 4)
parts = [torch.zeros(2, dtype=torch.int64) for _ in range(size)]
dist.all_gather(parts, torch.full((2,), rank, dtype=torch.int64))
same(torch.cat(parts), [0, 0, 1, 1])
dist.reduce(t.fill_(rank + 1), 0, op=dist.ReduceOp.MAX)
same(t, [2.0] * 4)
got = [torch.zeros(3), torch.zeros(3)]
dist.gather(torch.full((3,), float(rank)), got, dst=0)
same(torch.cat(got), [0.0] * 3 + [1.0] * 3)
own = torch.zeros(3)
dist.scatter(own, [torch.full((3,), 5.0), torch.full((3,), 6.0)], src=0)
same(own, [5.0] * 3)
out = torch.zeros(2)
dist.all_to_all_single(out, torch.tensor([0.0, 1.0]))
same(out, [0.0, 10.0])
dist.send(torch.arange(3.0), 1, tag=7)
dist.recv(own, 1, tag=8)
same(own, [9.0] * 3)
group = dist.new_group([0, 1])
dist.all_reduce(t.fill_(1), group=group)
same(t, [2.0] * 4)
dist.monitored_barrier(timeout=timedelta(seconds=30))
dist.barrier()
print('done')
