"""Steps of optimizers from PyTorch. See bench/cpp/ops.cpp for the protocol."""

import json
import os
import sys
import time

import torch

torch.set_num_threads(int(os.environ.get('BENCH_THREADS', '1')))


def step_of(name, **options):
    parameters = [torch.randn(1000).requires_grad_() for _ in range(100)]
    for parameter in parameters:
        parameter.grad = torch.randn(1000)
    return getattr(torch.optim, name)(parameters, **options).step


LOOPS = {
    'sgd': step_of('SGD', lr=1e-3, momentum=0.9),
    'adam': step_of('Adam', lr=1e-3),
    'adamw': step_of('AdamW', lr=1e-3),
}


def measure(loop, milliseconds):
    limit = milliseconds * 1e6
    calls = 0
    cpu = time.process_time_ns()
    start = time.perf_counter_ns()
    while True:
        loop()
        calls += 1
        elapsed = time.perf_counter_ns() - start
        if elapsed >= limit:
            return elapsed / calls, (time.process_time_ns() - cpu) / calls


for line in sys.stdin:
    op, milliseconds = line.split()
    ns, cpu = measure(LOOPS[op], float(milliseconds))
    print(json.dumps({'ns': ns, 'cpu': cpu}), flush=True)
