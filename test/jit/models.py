"""Models for the tests, made by PyTorch, with inputs and PyTorch's results: models.py FOLDER."""
import math
import sys
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

from training_models import Learner, Moving, Tied

folder = sys.argv[1]
torch.manual_seed(7)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.ReLU(inplace=True), nn.Linear(16, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).softmax(1)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.out = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.out(x.flatten(1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = 2
        self.qkv = nn.Linear(8, 24)
        self.proj = nn.Linear(8, 8)
        self.first = nn.LayerNorm(8)
        self.second = nn.LayerNorm(8)
        self.up = nn.Linear(8, 32)
        self.down = nn.Linear(32, 8)

    def forward(self, x: Tensor) -> Tensor:
        n, t, c = x.shape[0], x.shape[1], x.shape[2]
        q, k, v = self.qkv(self.first(x)).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        attention = (q @ k.transpose(-2, -1) * 0.5).softmax(-1)
        x = x + self.proj((attention @ v).transpose(1, 2).reshape(n, t, c))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


class Control(nn.Module):
    def forward(self, x: Tensor, steps: int = 2, flip: bool = False) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for i in range(steps):
            if bool(x.sum() > 0):
                x = x - i
            else:
                x = x * 2 + 1
            out["step" + str(i)] = x
        out["last"] = -x if flip else x
        return out


class Pair(NamedTuple):
    left: Tensor
    right: int


class Values(nn.Module):
    """Takes and returns every kind of value."""

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def plain(self, a: int, b: float, c: bool, d: str) -> Tuple[int, float, bool, str]:
        return a + 1, b / 2, not c, d + "!"

    @torch.jit.export
    def maybe(self, x: Optional[Tensor], n: Optional[int] = None) -> Optional[int]:
        if x is not None:
            return x.numel()
        return n

    @torch.jit.export
    def lists(self, a: List[int], b: List[float], c: List[str], d: List[Tensor], e: List[bool]
              ) -> Tuple[List[int], List[float], List[str], List[Tensor], List[bool]]:
        a.append(4)
        return a, b, c, d, e

    @torch.jit.export
    def nested(self, d: Dict[str, List[Tuple[int, Tensor]]], m: Dict[int, Dict[str, float]]
               ) -> Tuple[Dict[str, List[Tuple[int, Tensor]]], Dict[int, Dict[str, float]]]:
        return d, m

    @torch.jit.export
    def anything(self, x: Any) -> Any:
        return x

    @torch.jit.export
    def pair(self, x: Tensor, n: int) -> Pair:
        return Pair(x, n)

    @torch.jit.export
    def unpair(self, p: Tuple[Tensor, int]) -> Tensor:
        return p[0] + p[1]

    @torch.jit.export
    def number(self, x: complex) -> complex:
        return x * 2

    @torch.jit.export
    def big(self, n: int) -> int:
        return n * 4611686018427387904

    @torch.jit.export
    def doubled(self, depth: int) -> List[List[Any]]:
        """A shared list: 2 ** depth values when every path is visited."""
        now: List[Any] = [1]
        for _ in range(depth):
            nothing: List[Any] = [now, now]
            now = nothing
        outer: List[List[Any]] = [now]
        return outer

    @torch.jit.export
    def itself(self, x: Tensor) -> List[Any]:
        """Call it once in a model: libtorch 1.13's optimiser recurses endlessly over such a list at the second call."""
        loop: List[Any] = [x]
        loop.append(loop)
        return loop

    @torch.jit.export
    def fails(self, x: Tensor) -> Tensor:
        return x.view(7, 7)

    @torch.jit.export
    def fails_midway(self, x: Tensor) -> Tensor:
        y = x.view(7, 7)
        z = y + 1

        return z

    @torch.jit.export
    def raises(self) -> int:
        raise ValueError("not today")

    @torch.jit.export
    def slow(self, x: Tensor, times: int) -> Tensor:
        for _ in range(times):
            x = x @ x
        return x

    @torch.jit.export
    def large(self, n: int) -> Tensor:
        return torch.ones(n)

    @torch.jit.export
    def large_midway(self, n: int) -> Tensor:
        x = torch.ones(n)
        return x + 1


class State(nn.Module):
    """Changes itself and its argument."""

    count: int
    log: List[int]
    kept: List[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("grows", torch.zeros(1))
        self.scale = nn.Parameter(torch.ones(4))
        self.count = 0
        self.log = []
        self.kept = []

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.total += x
        return self.total * self.scale

    @torch.jit.export
    def look(self) -> Tuple[int, List[int]]:
        return self.count, self.log

    @torch.jit.export
    def grow(self, n: int) -> Tensor:
        self.grows = torch.zeros(n)
        return self.grows

    @torch.jit.export
    def keep(self, n: int):
        self.kept.append(torch.zeros(n))

    @torch.jit.export
    def note(self, n: int):
        self.log.append(n)

    @torch.jit.export
    def resize_buffer(self, n: int):
        self.grows.resize_(n)

    @torch.jit.export
    def add_one(self, x: Tensor) -> Tensor:
        return x.add_(1)

    @torch.jit.export
    def add_to_each(self, x: Tensor) -> Tensor:
        both = [x, self.total]
        torch._foreach_add_(both, 1.0)
        return both[0].sum() + both[1].sum()

    @torch.jit.export
    def resize(self, x: Tensor, n: int) -> Tensor:
        return x.resize_(n)

    @torch.jit.export
    def keep_then_fail(self, n: int) -> Tensor:
        self.kept.append(torch.zeros(n))
        self.count += 1
        return torch.zeros(2).view(3)

    @torch.jit.export
    def count_then_allocate(self, n: int) -> Tensor:
        self.count += 1
        return torch.ones(n)


class Service(nn.Module):
    """Has what freezing treats differently: batch norm, dropout, a second method, attributes that are read and written."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.ReLU())
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(4 * 4 * 4, 5)
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("unused", torch.zeros(1000))
        self.classes = ["a", "b", "c", "d", "e"]

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.drop(self.features(x).flatten(1)))

    @torch.jit.export
    def scores(self, x: Tensor) -> Tensor:
        return self.features(x).flatten(1).matmul(self.out.weight.t()).softmax(1)

    @torch.jit.export
    def count(self, x: Tensor) -> Tensor:
        self.seen += x.shape[0]
        return self.seen.clone()

    @torch.jit.export
    def label(self, i: int) -> str:
        return self.classes[i]


class Arithmetic(nn.Module):
    """TorchScript's own ops on integers and texts."""

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def rest(self, a: int, b: int) -> int:
        return a % b

    @torch.jit.export
    def quotient(self, a: int, b: int) -> int:
        return a // b

    @torch.jit.export
    def both(self, a: int, b: int) -> Tuple[int, int]:
        return divmod(a, b)

    @torch.jit.export
    def divisor(self, a: int, b: int) -> int:
        return math.gcd(a, b)

    @torch.jit.export
    def count(self, a: str, b: str) -> int:
        return a.count(b)

    @torch.jit.export
    def parts(self, a: str, b: str) -> List[str]:
        return a.rsplit(b)

    @torch.jit.export
    def replaced(self, a: str, b: str) -> str:
        return a.replace(b, "-")


class Mode(Enum):
    HALF = "half"
    SAME = "same"


class Scale(Enum):
    ONE = 1
    BELOW = -7
    LARGE = 5_000_000_000


class Share(Enum):
    TENTH = 0.1
    TWO = 2.0


class Enums(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = Mode.HALF
        self.scale = Scale.LARGE
        self.share = Share.TWO

    def forward(self, x: Tensor) -> Tensor:
        if self.mode == Mode.HALF:
            x = x / 2
        return x * self.scale.value + self.share.value

    @torch.jit.export
    def current(self) -> Mode:
        return self.mode


def save(name, module, *inputs):
    """The scripted or traced module, the same inputs, and PyTorch's outputs."""
    module.save(f"{folder}/{name}.pt")
    if inputs:
        with torch.no_grad():
            torch.save({"inputs": list(inputs), "output": module(*inputs)}, f"{folder}/{name}.values.pt")


x = torch.randn(5, 6)
images = torch.randn(2, 1, 8, 8)
tokens = torch.randn(2, 3, 8)
for name, module, given in [("mlp", MLP(), x), ("cnn", CNN(), images), ("block", Block(), tokens)]:
    module.eval()
    save(name + "-traced", torch.jit.trace(module, given), given)
    save(name + "-scripted", torch.jit.script(module), given)


@torch.jit.script
def seven(x: Tensor) -> Tensor:
    return x.view(7, 7)


save("fails-in-scripted", torch.jit.trace(lambda x: seven(x.relu()), torch.ones(7, 7)))
save("mlp-frozen", torch.jit.freeze(torch.jit.script(MLP().eval())), x)
save("cnn-training", torch.jit.script(CNN()))
save("tied", torch.jit.script(Tied()))
save("moving", torch.jit.script(Moving()))
save("learner", torch.jit.script(Learner()))
named = nn.Identity()
named._parameters.update({name: nn.Parameter(torch.ones(2)) for name in ["__proto__", "constructor"]})
save("named", torch.jit.script(named))
save("control", torch.jit.script(Control()), torch.randn(3), 3, True)
save("values", torch.jit.script(Values()))
save("state", torch.jit.script(State()))
save("enums", torch.jit.script(Enums()), x)
save("arithmetic", torch.jit.script(Arithmetic()))

service = Service()
with torch.no_grad():
    service(images)  # statistics that a wrong folding would show
service.eval()
scripted = torch.jit.script(service)
save("service", scripted, images)
given = torch.randn(3, 1, 8, 8)
with torch.no_grad():
    frozen = torch.jit.freeze(scripted, preserved_attrs=["scores", "label"])
    optimised = torch.jit.optimize_for_inference(torch.jit.script(service), other_methods=["scores"])
    results = [f(given) for f in (scripted, frozen, optimised, scripted.scores, frozen.scores, optimised.scores)]
torch.save({"inputs": [given], "output": results}, f"{folder}/service-faster.values.pt")
