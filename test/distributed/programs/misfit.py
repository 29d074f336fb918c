"""The Python rank of misfit.mjs, whose tensors have other sizes."""
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

method, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group('gloo', init_method=method, rank=rank, world_size=size, timeout=timedelta(seconds=120))
# Never larger ones in Node: Gloo would end this process.
for call in [
    lambda group: dist.all_reduce(torch.ones(1000), group=group),
    lambda group: dist.broadcast(torch.ones(1), 0, group=group),
    lambda group: dist.broadcast(torch.ones(1000), 0, group=group),
    lambda group: dist.send(torch.ones(1), 1, group=group),
    lambda group: dist.send(torch.ones(1000), 1, group=group),
]:
    # Python's Gloo does not end a transfer that had begun when the connection closed: it waits until this limit, which is
    # shorter than that of the barrier, where the other rank waits.
    group = dist.new_group([0, 1], timeout=timedelta(seconds=20))
    try:
        call(group)
    except RuntimeError:  # the other rank has closed the connection, now or later
        pass
    dist.barrier()
print('done')
