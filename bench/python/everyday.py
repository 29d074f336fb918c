"""Ordinary calls on small tensors, those of bench/support/everyday.json. See bench/cpp/ops.cpp for the protocol."""

import json
import os

import torch
import torch.nn.functional as F
from serve import serve
from torch import nn

BATCH = 200

torch.manual_seed(0)
x = torch.randn(8, 16)
names = {
    'torch': torch,
    'F': F,
    'x': x,
    'xT': x.t(),
    'v': torch.randn(4),
    's': torch.tensor(1.5),
    'ids': torch.arange(8),
    'column': torch.zeros(8, 1, dtype=torch.int64),
    'mask': torch.tensor([True, False] * 4),
    'positive': x.gt(0),
    'weight': torch.randn(4, 16),
    'list32': [torch.randn(4) for _ in range(32)],
    'image': torch.randn(1, 3, 8, 8),
    'kernel': torch.randn(4, 3, 3, 3),
    'layer': nn.Linear(16, 8),
    'net': nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)),
}
names['adam'] = torch.optim.Adam(names['layer'].parameters())
names['layer'](x).sum().backward()


def loop_of(call):
    """A function of its own for each call, whose names are local, as in a program."""
    program = f'def make({", ".join(names)}):\n    def loop():\n        for _ in range({BATCH}):\n            {call}\n    return loop\n'
    scope = {}
    exec(program, scope)
    return scope['make'](**names)


path = os.path.join(os.path.dirname(__file__), '../support/everyday.json')
with open(path) as file:
    calls = json.load(file)
serve({str(i): (loop_of(python), BATCH) for i, (_, python) in enumerate(calls)})
