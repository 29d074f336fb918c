"""Each op from PyTorch, its result freed at once by reference counting. See bench/cpp/ops.cpp for the protocol."""

import torch
from serve import serve

BATCH = 1000
LONG_BATCH = 20
EXPRESSIONS = 10
STEPS = 25

a = torch.ones(1)
b = torch.ones(1)
target = torch.zeros(1)
m = torch.ones(128, 128)
small = torch.ones(4, 4)
half = torch.full((4, 4), 0.5)
quarter = torch.full((4, 4), 0.25)


def add():
    for _ in range(BATCH):
        a.add(b)


def add_():
    for _ in range(BATCH):
        target.add_(b)


def view():
    for _ in range(BATCH):
        a.view(1)


def empty():
    for _ in range(BATCH):
        torch.empty(1)


def sum_():
    for _ in range(BATCH):
        a.sum()


def sum_dim():
    for _ in range(BATCH):
        small.sum([1], True)


def one_expression(x, a, b, c):
    for _ in range(STEPS):
        x = x.mul(a).add(b).sub(c).relu()
    return x


def expression():
    for _ in range(EXPRESSIONS):
        one_expression(small, half, small, quarter)


def chain():
    for _ in range(EXPRESSIONS):
        one_expression(a, b, a, b)


def mm():
    for _ in range(LONG_BATCH):
        m.mm(m)


LOOPS = {
    'add': (add, BATCH),
    'add_': (add_, BATCH),
    'view': (view, BATCH),
    'empty': (empty, BATCH),
    'sum': (sum_, BATCH),
    'sum_dim': (sum_dim, BATCH),
    'expression': (expression, EXPRESSIONS),
    'chain': (chain, EXPRESSIONS),
    'mm': (mm, LONG_BATCH),
}

serve(LOOPS)
