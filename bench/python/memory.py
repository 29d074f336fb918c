"""The loops of bench/node/memory.cjs from PyTorch. Scopes do not apply here: every result is freed at once."""

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
small = torch.ones(4, 4)


def twenty_times_five():
    for _ in range(20):
        small.add(one).mul(small).relu().view([16]).sum()


ops = 100 if loop == 'scoped' else 1
if loop == 'zeros':
    step = lambda: torch.zeros(1 << 18)  # noqa: E731
elif loop == 'scoped':
    step = twenty_times_five
else:
    step = lambda: one.add(one)  # noqa: E731

if loop == 'scoped':
    for _ in range(0, count // 10, ops):
        step()
else:
    for _ in range(min(100, count)):
        one.add(one)

before = rss()
most = before
for i in range(0, count, ops):
    step()
    if i % 10_000 == 0:
        most = max(most, rss())
after = rss()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({'peak': peak, 'growth': max(most, after) - before, 'left': after - before}))
