"""
Records what PyTorch does in torch.autocast('cpu'): argv[1] is the folder to write to, argv[2] the dtypes. cases.json describes
the calls; tensors.pt has the tensors that it names by number. The calls of ops are samples of PyTorch's own tests (op_db).
"""
import json
import os
import sys
import types
import unittest
import warnings

try:
    import torch
except ImportError as error:
    sys.exit(f"PyTorch is missing, the oracle of these tests (Debian: apt-get install python3-torch): {error}")

warnings.simplefilter("ignore")
# Debian does not have this package, which the tables import and do not use.
stub = types.ModuleType("expecttest")
stub.TestCase = unittest.TestCase
stub.ACCEPT = False
sys.modules["expecttest"] = stub
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

torch.set_num_threads(1)
SAMPLES = 2
tensors = []


class Left(Exception):
    """The case has a value that JavaScript cannot be told."""


def encoded(value):
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.numel() > 100_000 or value.dtype == torch.complex32:
            raise Left("not dense, large, or of a dtype that files cannot have")
        tensors.append(value.detach().resolve_conj().resolve_neg().clone())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (list, tuple)):
        return {"list": [encoded(item) for item in value]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value)[6:]}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return {"number": str(value)}
    # JavaScript cannot tell 2.0 from 2.
    if isinstance(value, int) or isinstance(value, float) and not value.is_integer():
        return value
    raise Left(f"{type(value).__name__} {value}")


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in flat(item)] if isinstance(value, (list, tuple)) else []


def op_case(op, sample, dtype):
    case = {"name": op.name, "dtype": dtype, "args": [encoded(sample.input)] + [encoded(arg) for arg in sample.args]}
    case["kwargs"] = {name: encoded(value) for name, value in sample.kwargs.items()}
    torch.manual_seed(42)  # as do the functions of random ops in the table
    try:
        with torch.autocast("cpu", dtype=getattr(torch, dtype)):
            result = op.op(sample.input, *sample.args, **sample.kwargs)
    except (RuntimeError, TypeError, ValueError, IndexError, AssertionError, NotImplementedError) as error:
        return {**case, "error": str(error)[:200]}
    if not flat(result):
        raise Left("no tensors")
    return {**case, "results": [encoded(tensor) for tensor in flat(result)]}


def op_cases(dtype):
    cases, left = [], 0
    for op in op_db:
        if torch.float32 not in op.dtypes or op.op is None:
            continue
        torch.manual_seed(3)
        try:
            samples = op.sample_inputs("cpu", torch.float32, requires_grad=False)
            for _, sample in zip(range(SAMPLES), samples):
                cases.append(op_case(op, sample, dtype))
        except Exception:  # no samples for this machine, or values that cannot be told
            left += 1
    return cases, left


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.rnn = torch.nn.LSTM(16, 8, batch_first=True)
        self.fc = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        x, _ = self.rnn(x.flatten(2))
        # One weight twice: the cache gives both uses one copy, and so one gradient in the lower precision.
        return self.fc(x[:, -1]) + self.fc(x[:, 0])


def trained(dtype):
    """Three steps with scaled losses; 1.13 has no scaler for the CPU, so what it does is written out."""
    torch.manual_seed(7)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    own = hasattr(torch.amp, "GradScaler")
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0) if own else None
    losses = []
    for _ in range(3):
        x, y = torch.randn(6, 1, 10, 10), torch.randint(0, 10, (6,))
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=getattr(torch, dtype)):
            loss = torch.nn.functional.cross_entropy(net(x), y)
        if own:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            (loss * torch.full((1,), 1024.0)).backward()
            for parameter in net.parameters():
                parameter.grad.mul_(1 / 1024)
            optimizer.step()
        losses.append(loss.detach())
    with torch.autocast("cpu", dtype=getattr(torch, dtype)):
        inside = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        inside.backward()
    grads = [parameter.grad for parameter in net.parameters()]
    return {"dtype": dtype, "losses": encoded(losses), "state": encoded(list(net.state_dict().values())), "grads": encoded(grads)}


record = {"version": torch.__version__, "ops": [], "left": 0, "trained": []}
for name in sys.argv[2].split(","):
    cases, left = op_cases(name)
    record["ops"] += cases
    record["left"] += left
    record["trained"].append(trained(name))
with open(os.path.join(sys.argv[1], "cases.json"), "w") as file:
    json.dump(record, file)
torch.save(tensors, os.path.join(sys.argv[1], "tensors.pt"))
