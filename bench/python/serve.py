"""The protocol of the measured PyTorch programs; bench/cpp/serve.h describes it. `import serve` also sets the threads."""

import json
import os
import sys
import time

import torch

torch.set_num_threads(int(os.environ.get('BENCH_THREADS', '1')))


def measure(loop, count, milliseconds):
    """Repeats `loop`, which makes `count` calls, for that time. Returns the cost of one call."""
    limit = milliseconds * 1e6
    calls = 0
    cpu = time.process_time_ns()
    start = time.perf_counter_ns()
    while True:
        loop()
        calls += count
        elapsed = time.perf_counter_ns() - start
        if elapsed >= limit:
            return {'ns': elapsed / calls, 'cpu': (time.process_time_ns() - cpu) / calls}


def serve(loops):
    """Answers each line "OP MILLISECONDS". `loops`: functions by name, or pairs of a function and its count of calls."""
    for line in sys.stdin:
        name, milliseconds = line.split()
        found = loops[name]
        loop, count = found if isinstance(found, tuple) else (found, 1)
        print(json.dumps(measure(loop, count, float(milliseconds))), flush=True)
