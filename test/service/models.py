"""Models for the tests of the example service: models.py FOLDER."""
import sys

import torch
from torch import Tensor, nn

folder = sys.argv[1]


class Reader(nn.Module):
    """Returns [n, 10] like the service's own model, but is untrained."""

    def __init__(self, classes: int = 10):
        super().__init__()
        self.out = nn.Linear(28 * 28, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.out(images.flatten(1)).softmax(1)


class NotFinite(Reader):
    def forward(self, images: Tensor) -> Tensor:
        return self.out(images.flatten(1)) / 0 * 0


class Obedient(Reader):
    """The first two pixels are the number of work steps and the amount of memory."""

    def __init__(self):
        super().__init__()
        self.register_buffer("unit", torch.eye(256))

    def forward(self, images: Tensor) -> Tensor:
        x = self.unit
        for _ in range(int(images[:, 0, 0, 0].max() * 100000)):
            x = x @ self.unit
        held = torch.ones(int(images[:, 0, 0, 1].max() * 1000000000))
        return self.out(images.flatten(1)).softmax(1) + held.sum() * 0 + x[0, 1]


class Convolutions(nn.Module):
    """What optimizeForInference rewrites."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 5, stride=2, padding=2)
        self.out = nn.Linear(8 * 14 * 14, 10)

    def forward(self, images: Tensor) -> Tensor:
        return self.out(torch.relu(self.first(images)).flatten(1)).softmax(1)


class Random(Reader):
    """Its outputs differ from call to call."""

    def forward(self, images: Tensor) -> Tensor:
        return (self.out(images.flatten(1)) + torch.rand(10)).softmax(1)


def save(name, make, seed=1):
    torch.manual_seed(seed)
    torch.jit.script(make().eval()).save(f"{folder}/{name}.pt")


save("reader", Reader)
save("other", Reader, 2)
save("seven", lambda: Reader(7))
save("not-finite", NotFinite)
save("obedient", Obedient)
save("convolutions", Convolutions)
save("random", Random)
