"""Models of models.py with parameters that are shared, replaced, or trained by a method."""
from typing import Optional

import torch
from torch import Tensor, nn


class Tied(nn.Module):
    """A parameter that two parts share, and a dropout."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(4, 4)
        self.last.weight = self.first.weight
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.drop(self.norm(self.first(x)))) * self.scale


class Moving(nn.Module):
    """Its code puts other tensors into its buffers and parameters."""

    weight: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.last = nn.Linear(2, 1)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.mean = self.mean * 0.5 + x.detach().mean(0) * 0.5
        return self.last(x - self.mean)

    @torch.jit.export
    def put(self, weight: Optional[Tensor]):
        self.weight = weight


class Learner(nn.Module):
    """A method of it runs a backward."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight).sum()

    @torch.jit.export
    def learn(self, a: Tensor, b: Tensor) -> Tensor:
        loss = self.forward(a) + self.forward(b)
        loss.backward()
        return loss.detach()
