"""Packages for the tests, compiled by PyTorch, with inputs and PyTorch's results: models.py FOLDER."""
import sys

import torch
from torch import nn
from torch.export import Dim, export

folder = sys.argv[1]
torch.manual_seed(7)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.layers(x).softmax(1)


class Nested(nn.Module):
    """Containers in and out, a named argument, constants, and a result in the model's own memory."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).reshape(3, 4))

    def forward(self, x, more, flag, *, scale, extra):
        first, (second, third) = more["list"], more["pair"]
        total = x * scale + first[0] + first[1] + second - third + len(flag)
        return {
            "sum": total,
            "parts": [total.sum(), (extra["b"] * 2, extra["a"].long())],
            "table": self.table,
            "row": self.table[1],
            "same": x,
        }


class Writer(nn.Module):
    """Writes to its argument, and returns two tensors."""

    def forward(self, x):
        x.add_(1)
        return x * 2, x.sum()


def save(name, model, args, kwargs=None, **options):
    model = model.eval()
    kwargs = kwargs or {}
    with torch.no_grad():
        program = export(model, args, kwargs, **options)
        torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/{name}.pt2")
        again = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        output = model(*again, **kwargs)
    torch.save({"inputs": list(args), "named": kwargs, "output": output}, f"{folder}/{name}.values.pt")


batch = Dim("batch", min=1, max=1024)
x = torch.randn(5, 6)
save("mlp", MLP(), (x,), dynamic_shapes={"x": {0: batch}})

x = torch.randn(3, 4)
more = {"list": [torch.randn(4), torch.randn(1)], "pair": (torch.randn(3, 1), torch.randn(3, 4))}
named = {"scale": torch.tensor(3.0), "extra": {"b": torch.randn(2), "a": torch.tensor([1.5])}}
save("nested", Nested(), (x, more, "ab"), named)

save("writer", Writer(), (torch.arange(4.0),))

# Not a compiled model, in an archive of the same name.
torch.export.save(export(MLP().eval(), (torch.randn(5, 6),)), f"{folder}/exported.pt2")
