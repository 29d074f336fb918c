"""examples/digits from PyTorch, line by line: see bench/node/digits.cjs, which wrote the digits into the given folder."""

import json
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
RATE = 0.002


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(PIXELS, HIDDEN)
        self.scores = torch.nn.Linear(HIDDEN, CLASSES)

    def forward(self, images):
        return self.scores(self.hidden(images).relu())


def read(folder, name, dtype):
    with open(os.path.join(folder, name), 'rb') as file:
        return torch.frombuffer(bytearray(file.read()), dtype=dtype)


def train_step(model, optimizer, images, labels):
    optimizer.zero_grad(set_to_none=True)
    scores = model(images)
    loss = F.cross_entropy(scores, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


class Training:
    def __init__(self, images, labels):
        torch.manual_seed(SEED)
        self.model = Model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=RATE)
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
