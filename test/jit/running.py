"""Models whose code runs while they are loaded, or that access files: running.py FOLDER VICTIM."""
import sys
from typing import NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

folder, victim = sys.argv[1:]


class SetState(nn.Module):
    """Overwrites a file when it is loaded."""

    def __init__(self):
        super().__init__()
        self.path = victim
        self.kept = torch.zeros(1, dtype=torch.uint8)

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def __getstate__(self) -> Tuple[str, Tensor, bool]:
        return self.path, torch.zeros(1), self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[str, Tensor, bool]):
        self.path = state[0]
        self.training = state[2]
        self.kept = torch.from_file(self.path, True, 6, dtype=torch.uint8).fill_(88)


class Reaching(nn.Module):
    """Accesses a file when it is called."""

    def forward(self, n: int) -> Tensor:
        return torch.from_file("/etc/hostname", False, n, dtype=torch.uint8)


class Pair(NamedTuple):
    left: Tensor
    right: int


class Defaults(nn.Module):
    """Default values and constants of every kind, without code."""

    scale: torch.jit.Final[float]

    def __init__(self):
        super().__init__()
        self.scale = float("inf")
        self.parts = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

    def forward(self, x: Tensor, n: int = 2, a: float = 0.5, b: str = "a'\"\\\n# x; save", c: bool = True,
                d: Optional[Tensor] = None, e: Tuple[int, int] = (1, -2), f: float = float("inf"),
                g: Optional[str] = None) -> Pair:
        for part in self.parts:
            x = part(x) * self.scale
        return Pair(x, n)


class Forking(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(torch.relu, x))


torch.jit.script(Forking()).save(f"{folder}/forking.pt")
torch.jit.script(SetState()).save(f"{folder}/set-state.pt")
torch.jit.script(Reaching()).save(f"{folder}/reaching.pt")
torch.jit.script(Defaults()).save(f"{folder}/defaults.pt")
