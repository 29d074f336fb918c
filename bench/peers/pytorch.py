"""PyTorch. See bench/peers/serve.cjs for the protocol. A sixth argument: only writes the model of `cnn` to that file."""

import sys

import torch
from protocol import fill, make, serve
from torch import nn

small, mid, mm, images, rows = map(int, sys.argv[1:6])
torch.set_num_threads(1)

a, b = make([small], 1), make([small], 2)
x, y, z = (make([mid, mid], seed) for seed in (3, 4, 5))
m, n = make([mm, mm], 6), make([mm, mm], 7)
cnn = nn.Sequential(
    fill(nn.Conv2d(1, 8, 3, padding=1), 10, 0.6),
    nn.ReLU(),
    nn.MaxPool2d(2),
    fill(nn.Conv2d(8, 16, 3, padding=1), 12, 0.2),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    fill(nn.Linear(256, 10), 14, 0.1),
)
pictures = make([images, 1, 16, 16], 16)
if len(sys.argv) > 6:
    torch.jit.script(cnn.eval()).save(sys.argv[6])
    sys.exit()
mlp = nn.Sequential(fill(nn.Linear(784, 128), 20, 0.1), nn.ReLU(), fill(nn.Linear(128, 10), 22, 0.2))
data = make([rows, 784], 24)
labels = torch.arange(rows).remainder(10)
optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-3)


def infer():
    with torch.no_grad():
        return cnn(pictures)


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(mlp(data), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


CASES = {
    'small': lambda: a.add(b),
    'mid': lambda: x.mul(y).add(z).relu(),
    'mm': lambda: m.mm(n),
    'cnn': infer,
    'train': step,
}
BATCHES = {'small': 200, 'mid': 5}


def rss():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * 4096


def memory(count):
    for _ in range(100):
        CASES['mid']()
    before = rss()
    for _ in range(count):
        CASES['mid']()
    return rss() - before


serve(CASES, BATCHES, memory)
