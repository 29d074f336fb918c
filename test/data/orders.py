"""The orders that PyTorch's loaders give, by name, as JSON; after each, a number that shows where the generator is."""
import json

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    random_split,
)

N = 103
data = list(range(N))
weights = [i % 7 + 0.5 for i in range(N)]


def batches(loader, most=None):
    seen = []
    for batch in loader:
        seen.append(batch.tolist() if isinstance(batch, torch.Tensor) else batch)
        if len(seen) == most:
            break
    return seen


def generator():
    return torch.Generator().manual_seed(5)


def shared(length, replicas, **options):
    ranks = []
    for rank in range(replicas):
        sampler = DistributedSampler(range(length), replicas, rank, **options)
        epochs = []
        for epoch in (0, 3):
            sampler.set_epoch(epoch)
            epochs.append([len(sampler), list(sampler)])
        ranks.append(epochs)
    return ranks


def distributed():
    sizes = [(length, replicas) for length in (0, 1, 2, 7, 12, 103) for replicas in (1, 2, 5)]
    options = ({}, dict(shuffle=False), dict(seed=7), dict(drop_last=True), dict(shuffle=False, drop_last=True))
    return [[shared(*size, **one) for size in sizes] for one in options]


def after(generator=None):
    return torch.randint(2**31, (1,), generator=generator).item()


def case(run):
    torch.manual_seed(3)
    g = generator()
    return [run(g), after(g), after()]


def twice(loader):
    return [batches(loader, 2), batches(loader)]


cases = {
    "sequential": lambda g: twice(DataLoader(data, batch_size=10)),
    "shuffle": lambda g: twice(DataLoader(data, batch_size=10, shuffle=True)),
    "shuffle, generator": lambda g: twice(DataLoader(data, batch_size=10, shuffle=True, generator=g)),
    "shuffle, drop": lambda g: twice(DataLoader(data, batch_size=10, shuffle=True, drop_last=True, generator=g)),
    "shuffle, no batches": lambda g: twice(DataLoader(data, batch_size=None, shuffle=True)),
    "replacement": lambda g: twice(DataLoader(data, 10, sampler=RandomSampler(data, True, 250))),
    "replacement, generator": lambda g: twice(DataLoader(data, 10, sampler=RandomSampler(data, True, 250, g))),
    "many": lambda g: twice(DataLoader(data, 10, sampler=RandomSampler(data, num_samples=250, generator=g))),
    "multiple": lambda g: twice(DataLoader(data, 103, sampler=RandomSampler(data, num_samples=206, generator=g))),
    "both": lambda g: twice(DataLoader(data, 10, sampler=RandomSampler(data, True, 70, g), generator=g)),
    "subset": lambda g: twice(DataLoader(data, 10, sampler=SubsetRandomSampler(range(20, 90), g))),
    "subset, default": lambda g: twice(DataLoader(data, 10, sampler=SubsetRandomSampler(range(20, 90)))),
    "weighted": lambda g: twice(DataLoader(data, 10, sampler=WeightedRandomSampler(weights, 70, True, g))),
    "weighted, without": lambda g: twice(DataLoader(data, 10, sampler=WeightedRandomSampler(weights, 70, False))),
    "batches": lambda g: twice(
        DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data, generator=g), 30, drop_last=True))
    ),
    "samplers": lambda g: [
        list(RandomSampler(data, True, 70, g)),
        list(RandomSampler(data, generator=g)),
        list(SequentialSampler(data)),
        list(SubsetRandomSampler([5, 2, 90], g)),
        list(WeightedRandomSampler(weights, 9, generator=g)),
        list(BatchSampler(range(11), 4, False)),
    ],
    "split": lambda g: [list(part.indices) for part in random_split(data, [70, 30, 3], generator=g)],
    "fractions": lambda g: [list(part.indices) for part in random_split(data, [0.5, 0.3, 0.2])],
    "distributed": lambda g: distributed(),
    "distributed, loader": lambda g: twice(DataLoader(data, 10, sampler=DistributedSampler(data, 4, 3, True, 11, True))),
}
print(json.dumps({name: case(run) for name, run in cases.items()}))
