"""Each op from PyTorch, its result freed at once by reference counting. See bench/cpp/ops.cpp for the protocol."""

import json
import os
import sys
import time

import torch

BATCH = 1000
LONG_BATCH = 20

torch.set_num_threads(int(os.environ.get('BENCH_THREADS', '1')))
a = torch.ones(1)
b = torch.ones(1)
target = torch.zeros(1)
m = torch.ones(128, 128)


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


def mm():
    for _ in range(LONG_BATCH):
        m.mm(m)


LOOPS = {'add': add, 'add_': add_, 'view': view, 'empty': empty, 'sum': sum_, 'mm': mm}


def measure(loop, count, milliseconds):
    limit = milliseconds * 1e6
    calls = 0
    cpu = time.process_time_ns()
    start = time.perf_counter_ns()
    while True:
        loop()
        calls += count
        elapsed = time.perf_counter_ns() - start
        if elapsed >= limit:
            return elapsed / calls, (time.process_time_ns() - cpu) / calls


for line in sys.stdin:
    op, milliseconds = line.split()
    ns, cpu = measure(LOOPS[op], LONG_BATCH if op == 'mm' else BATCH, float(milliseconds))
    print(json.dumps({'ns': ns, 'cpu': cpu}), flush=True)
