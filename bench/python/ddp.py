"""One of the two ranks of training steps with PyTorch's DistributedDataParallel: the nets of bench/node/ddp.cjs."""

import json
import sys
import time

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)


def cnn():
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    return net, torch.randn(64, 1, 16, 16)


def mlp():
    net = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10))
    return net, torch.randn(64, 784)


def step_of(net, x):
    model = DistributedDataParallel(net, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    labels = torch.arange(x.shape[0]).remainder(10)

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()

    return step


torch.distributed.init_process_group('gloo')
nets = {'cnn': cnn, 'mlp': mlp}
steps = {}
for line in sys.stdin:
    name, count = line.split()
    if name not in steps:
        steps[name] = step_of(*nets[name]())
    step, count = steps[name], int(count)
    began, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(count):
        step()
    ns, cpu = time.perf_counter_ns() - began, time.process_time_ns() - cpu
    print(json.dumps({'ns': ns / count, 'cpu': cpu / count}), flush=True)
torch.distributed.destroy_process_group()
