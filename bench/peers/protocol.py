"""The protocol of bench/peers/serve.cjs for programs in Python, and the numbers that all programs compute with."""

import json
import sys
import time

import torch


def make(shape, seed, scale=1.0):
    """The same numbers as `filled` of serve.cjs."""
    length = torch.Size(shape).numel()
    numbers = (torch.arange(1, length + 1, dtype=torch.int64) * (2 * seed + 37)).remainder(101)
    return ((numbers.double() / 101 - 0.5) * scale).float().reshape(shape)


def fill(module, seed, scale):
    with torch.no_grad():
        module.weight.copy_(make(module.weight.shape, seed, scale))
        module.bias.copy_(make(module.bias.shape, seed + 1, scale))
    return module


def measure(run, count, milliseconds, wait):
    calls = 0
    cpu = time.process_time_ns()
    start = time.perf_counter_ns()
    while True:
        for _ in range(count):
            run()
        wait()
        calls += count
        elapsed = time.perf_counter_ns() - start
        if elapsed >= milliseconds * 1e6:
            return {'ns': elapsed / calls, 'cpu': (time.process_time_ns() - cpu) / calls}


def serve(cases, batches, memory, wait=lambda: None):
    """Answers the lines of stdin. `memory(count)`: bytes; `wait`: until a device has finished."""
    for line in sys.stdin:
        first, second = line.split()
        if first == 'check':
            answer = {'values': cases[second]().reshape(-1)[:8].cpu().tolist()}
        elif first == 'memory':
            answer = {'growth': memory(int(second))}
        else:
            answer = measure(cases[first], batches.get(first, 1), float(second), wait)
        print(json.dumps(answer), flush=True)
