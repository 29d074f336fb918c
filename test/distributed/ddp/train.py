"""One Python rank: the same cases as train.cjs. Prints one JSON object for each, with hashes of all weights and buffers."""
import hashlib
import json
import os
import sys

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = int(os.environ["STEPS"])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.hidden = nn.Linear(100, 30)
        self.out = nn.Linear(30, 10)
        self.spare = nn.Linear(30, 10)

    def forward(self, x, spare=False):
        x = torch.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        x = torch.relu(self.hidden(torch.flatten(x, 1)))
        return self.spare(x) if spare else self.out(x) + 0 * self.spare(x)


class Two(nn.Module):
    """The loss uses one of two outputs."""

    def __init__(self):
        super().__init__()
        self.used = nn.Linear(144, 10)
        self.unused = nn.Linear(144, 3)

    def forward(self, x):
        x = torch.flatten(x, 1)
        return [self.used(x), self.unused(x)]


def batch(generator, n=6):
    return torch.randn(n, 1, 12, 12, generator=generator), torch.randint(10, (n,), generator=generator)


def bits(tensors):
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist()))
    return digest.hexdigest()


def train(rank, options, steps, module=Net, accumulate=1, cast=False, spare=False):
    torch.manual_seed(10 + rank)
    net = module()
    ddp = DistributedDataParallel(net, **options)
    started = bits(net.state_dict().values())
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(100 + rank)
    norms = []

    def forward(step):
        x, y = batch(generator)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):
            output = ddp(x, True) if spare and step % 2 == rank % 2 else ddp(x)
            output = output[0] if isinstance(output, list) else output
            return nn.functional.cross_entropy(output, y) / accumulate

    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        for _ in range(accumulate - 1):
            with ddp.no_sync():
                forward(step).backward()
        forward(step).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0).item())
        optimizer.step()
    return {
        "started": started,
        "keys": list(ddp.state_dict().keys()),
        "weights": bits(net.parameters()),
        "buffers": bits(net.buffers()),  # of this rank's last batch
        "norms": bits([torch.tensor(norms)]),
    }


rank = int(os.environ["RANK"])
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
small = 0.004  # several buckets
cases = {
    "plain": lambda: train(rank, {}, STEPS),
    "buckets": lambda: train(rank, {"bucket_cap_mb": small}, 8),
    "accumulated": lambda: train(rank, {}, 6, accumulate=3),
    "unused": lambda: train(rank, {"find_unused_parameters": True, "bucket_cap_mb": small}, 8, spare=True),
    "outputs": lambda: train(rank, {"find_unused_parameters": True}, 6, module=Two),
    "static": lambda: train(rank, {"static_graph": True, "bucket_cap_mb": small}, 8),
    "views": lambda: train(rank, {"gradient_as_bucket_view": True}, 8),
    "autocast": lambda: train(rank, {}, 8, cast=True),
    "own buffers": lambda: train(rank, {"broadcast_buffers": False}, 8),
}
for name in json.loads(os.environ.get("CASES", "null")) or cases:
    print(json.dumps({"case": name, **cases[name]()}), flush=True)
torch.distributed.destroy_process_group()
