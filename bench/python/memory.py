"""The loops of bench/node/memory.cjs from PyTorch. A scope says nothing here: every result is freed at once."""

import json
import resource
import sys

import torch

PAGE = resource.getpagesize()


def rss():
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * PAGE


loop, count = sys.argv[1], int(sys.argv[2])
one = torch.ones(1)
step = (lambda: torch.zeros(1 << 18)) if loop == 'zeros' else (lambda: one.add(one))

for _ in range(min(100, count)):
    one.add(one)
before = rss()
most = before
for i in range(count):
    step()
    if i % 10_000 == 0:
        most = max(most, rss())
most = max(most, rss())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({'peak': peak, 'growth': most - before}))
