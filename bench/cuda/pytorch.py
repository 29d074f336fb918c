"""PyTorch on a device. See bench/peers/serve.cjs for the protocol, bench/cuda/ours.cjs for the cases."""

import math
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peers'))
import protocol  # noqa: E402: found by the line above

device = sys.argv[1]
side, width, length, images = map(int, sys.argv[2:6])
is_device = device != 'cpu'
torch.set_num_threads(1)


def make(shape, seed, scale=1.0):
    return protocol.make(shape, seed, scale).to(device)


def fill(module, seed, scale):
    return protocol.fill(module, seed, scale).to(device)


def wait():
    if is_device:
        torch.cuda.synchronize(device)


HEADS = 8
a, b = make([16], 1), make([16], 2)
x, y, z = (make([side, side], seed) for seed in (3, 4, 5))
blocks = [
    (
        make([HEADS, length, width // HEADS], seed),
        make([HEADS, length, width // HEADS], seed + 1),
        make([3 * width, width], seed + 2, 0.1),
        make([width, width], seed + 3, 0.1),
        make([4 * width, width], seed + 4, 0.1),
        make([width, 4 * width], seed + 5, 0.1),
    )
    for seed in (30, 50, 70, 90)
]
token = make([1, width], 29)
cnn = nn.Sequential(
    fill(nn.Conv2d(3, 32, 3, padding=1), 10, 0.4),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    fill(nn.Conv2d(32, 64, 3, padding=1), 12, 0.1),
    nn.BatchNorm2d(64),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    fill(nn.Linear(64 * 64, 10), 14, 0.05),
).to(device)
rows = make([images, 3, 32, 32], 16)
labels = torch.arange(images).remainder(10).to(device)
optimizer = torch.optim.Adam(cnn.parameters(), lr=1e-3)


def mid():
    return x.mul(y).add(z).relu()


def decode():
    with torch.no_grad():
        h = token
        for keys, held, qkv, out, up, down in blocks:
            q, k, v = F.linear(F.layer_norm(h, [width]), qkv).reshape(3, HEADS, 1, width // HEADS).unbind(0)
            scores = q.matmul(torch.cat([keys, k], 1).transpose(1, 2)).div(math.sqrt(width / HEADS))
            mixed = scores.softmax(-1).matmul(torch.cat([held, v], 1))
            h = h.add(F.linear(mixed.reshape(1, width), out))
            h = h.add(F.linear(F.gelu(F.linear(F.layer_norm(h, [width]), up)), down))
        return h


def train():
    optimizer.zero_grad()
    loss = F.cross_entropy(cnn(rows), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


CASES = {'small': lambda: a.add(b), 'mid': mid, 'mm': lambda: x.mm(y), 'decode': decode, 'train': train}
BATCHES = {'small': 500, 'mid': 50, 'mm': 20, 'decode': 5, 'train': 5}


def reserved(count):
    mid()
    if is_device:
        torch.cuda.empty_cache()
    for _ in range(count):
        mid()
    wait()
    return torch.cuda.max_memory_reserved(device) if is_device else 0


protocol.serve(CASES, BATCHES, reserved, wait)
