"""examples/digits from PyTorch, line by line: see bench/node/digits.cjs, which wrote the digits into the given folder."""

import json
import math
import os
import sys
import time

import torch
import torch.nn.functional as F

PIXELS = 28 * 28
HIDDEN = 128
CLASSES = 10
BATCH = 64
SEED = 1
BETA1 = 0.9
BETA2 = 0.999
EPSILON = 1e-8


class Model:
    def __init__(self):
        shapes = [(PIXELS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)]
        self.parameters = [
            torch.zeros(shape) if len(shape) == 1 else torch.randn(shape).mul_(math.sqrt(2 / shape[0]))
            for shape in shapes
        ]
        for parameter in self.parameters:
            parameter.requires_grad = True

    def forward(self, images):
        w1, b1, w2, b2 = self.parameters
        return images.matmul(w1).add(b1).relu().matmul(w2).add(b2)


class Adam:
    def __init__(self, parameters, rate=0.002):
        self.parameters = parameters
        self.rate = rate
        self.means = [torch.zeros(parameter.shape) for parameter in parameters]
        self.squares = [torch.zeros(parameter.shape) for parameter in parameters]
        self.steps = 0

    def step(self):
        self.steps += 1
        size = self.rate / (1 - BETA1**self.steps)
        correction = math.sqrt(1 - BETA2**self.steps)
        with torch.no_grad():
            for i, parameter in enumerate(self.parameters):
                gradient = parameter.grad
                if gradient is None:
                    continue
                mean = self.means[i].mul_(BETA1).add_(gradient, alpha=1 - BETA1)
                square = self.squares[i].mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
                parameter.addcdiv_(mean, square.sqrt().div_(correction).add_(EPSILON), value=-size)
                parameter.grad = None


def read(folder, name, dtype):
    with open(os.path.join(folder, name), 'rb') as file:
        return torch.frombuffer(bytearray(file.read()), dtype=dtype)


def train_step(model, optimizer, images, labels):
    scores = model.forward(images)
    loss = F.cross_entropy(scores, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


class Training:
    def __init__(self, images, labels):
        torch.manual_seed(SEED)
        self.model = Model()
        self.optimizer = Adam(self.model.parameters)
        self.images = images
        self.labels = labels
        self.batches = []
        self.next = 0


class FullBatch(Training):
    def step(self):
        return train_step(self.model, self.optimizer, self.images, self.labels)


class MiniBatch(Training):
    def step(self):
        if self.next == len(self.batches):
            torch.manual_seed(SEED)
            self.batches = torch.randperm(self.labels.numel()).split(BATCH)
            self.next = 0
        batch = self.batches[self.next]
        self.next += 1
        images, labels = self.images.index_select(0, batch), self.labels.index_select(0, batch)
        return train_step(self.model, self.optimizer, images, labels)


def measure(training, steps):
    total = 0
    cpu = time.process_time_ns()
    start = time.perf_counter_ns()
    for _ in range(steps):
        total += training.step()
    elapsed = time.perf_counter_ns() - start
    return {'ns': elapsed / steps, 'cpu': (time.process_time_ns() - cpu) / steps, 'loss': total / steps}


def main():
    torch.set_num_threads(int(os.environ.get('BENCH_THREADS', '1')))
    folder = sys.argv[1]
    images = read(folder, 'pixels', torch.float32).reshape(-1, PIXELS)
    labels = read(folder, 'labels', torch.int64)
    trainings = {'full': FullBatch(images, labels), 'mini': MiniBatch(images, labels)}
    for line in sys.stdin:
        name, steps = line.split()
        print(json.dumps(measure(trainings[name], int(steps))), flush=True)


main()
