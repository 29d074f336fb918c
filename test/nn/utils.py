"""
Records what PyTorch's torch.nn.utils does: argv[1] is the folder to write to. cases.json has what each case gives by name;
tensors.pt has the tensors that it names by number. utils-cases.ts does the same here.
"""
import functools
import json
import os
import sys
import warnings

try:
    import torch
except ImportError as error:
    sys.exit(f"PyTorch is missing, the oracle of these tests (Debian: apt-get install python3-torch): {error}")

import torch.nn.utils.fusion
import torch.nn.utils.parametrizations as parametrizations
import torch.nn.utils.parametrize as parametrize
import torch.nn.utils.prune as prune
import torch.nn.utils.rnn as rnn
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn

warnings.simplefilter("ignore")
torch.set_num_threads(1)
tensors = []
cases = {}


def encoded(value):
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach().clone())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    if isinstance(value, dict):
        return {"keys": list(value), "values": [encoded(item) for item in value.values()]}
    return value


def case(function):
    torch.manual_seed(7)
    cases[function.__name__] = {name: encoded(value) for name, value in function().items()}
    return function


def parts(packed):
    return [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices]


@case
def packing():
    batch = torch.randn(4, 3, 2, requires_grad=True)
    unsorted = rnn.pack_padded_sequence(batch, torch.tensor([2, 4, 1]), enforce_sorted=False)
    ordered = rnn.pack_padded_sequence(batch, [3, 2, 2], batch_first=False)
    first = rnn.pack_padded_sequence(batch.detach().transpose(0, 1), [4, 4, 1], batch_first=True)
    padded, lengths = rnn.pad_packed_sequence(unsorted, padding_value=-1.5, total_length=6)
    padded.sum().backward()
    return {
        "unsorted": parts(unsorted),
        "ordered": parts(ordered),
        "first": parts(first),
        "padded": [padded, lengths, batch.grad],
        "again": rnn.pad_packed_sequence(first, batch_first=True),
        "text": str(rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])),
    }


@case
def lists():
    sequences = [torch.randn(length, 2) for length in (2, 5, 1)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    padded = rnn.pad_sequence(sequences, padding_value=9.0)
    return {
        "packed": parts(packed),
        "double": parts(packed.double()),
        "padded": padded,
        "first": rnn.pad_sequence(sequences, batch_first=True),
        "unpacked": rnn.unpack_sequence(packed),
        "unpadded": rnn.unpad_sequence(padded.clone(), torch.tensor([2, 5, 1])),
        "inverse": rnn.invert_permutation(torch.tensor([2, 0, 1])),
    }


def total(values):
    return functools.reduce(torch.add, [value.sum() for value in values])


def recurrent(make, hidden):
    torch.manual_seed(8)
    layer = make()
    data = [torch.randn(length, 4) for length in (2, 5, 3)]
    states = [torch.randn(size) for size in hidden]
    given = states[0] if len(states) == 1 else tuple(states)
    found = {}
    for name, state in (("none", None), ("given", given)):
        layer.zero_grad()
        torch.manual_seed(9)
        output, last = layer(rnn.pack_sequence(data, enforce_sorted=False), state)
        ends = [last] if isinstance(last, torch.Tensor) else [*last]
        total([output.data, *ends]).backward()
        found[name] = [parts(output), ends, [one.grad.clone() for one in layer.parameters()]]
    return found


@case
def lstm():
    sizes = [(4, 3, 2), (4, 3, 5)]
    return recurrent(lambda: nn.LSTM(4, 5, 2, bidirectional=True, dropout=0.5, proj_size=2), sizes)


@case
def gru():
    return recurrent(lambda: nn.GRU(4, 5, 2, bias=False), [(2, 3, 5)])


@case
def elman():
    return recurrent(lambda: nn.RNN(4, 5, nonlinearity="relu", batch_first=True), [(1, 3, 5)])


def state(module):
    return [str(module), {name: tensor.clone() for name, tensor in module.state_dict().items()}]


def trained(module, data, steps=3):
    """The state and the results of some steps of training, then the result in evaluation."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    found = [state(module)]
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        result = module(data)
        result = result[0] if isinstance(result, tuple) else result
        result.mul(result).sum().backward()
        optimizer.step()
        found += [result, [parameter.grad.clone() for parameter in module.parameters()]]
    module.eval()
    result = module(data)
    return [*found, result[0] if isinstance(result, tuple) else result, state(module)]


def image(channels=2):
    return torch.randn(2, channels, 5, 5)


@case
def weight_norm():
    found = {}
    for name, module, data, given in [
        ("linear", nn.Linear(3, 4), torch.randn(5, 3), {}),
        ("conv", nn.Conv2d(2, 3, 3), image(), {"dim": None}),
        ("lstm", nn.LSTM(3, 4), torch.randn(5, 2, 3), {"name": "weight_hh_l0", "dim": 1}),
    ]:
        nn.utils.weight_norm(module, **given)
        found[name] = trained(module, data)
        nn.utils.remove_weight_norm(module, given.get("name", "weight"))
        found[name + " removed"] = state(module)
    return found


@case
def spectral_norm():
    found = {}
    for name, module, data, given in [
        ("linear", nn.Linear(3, 4), torch.randn(5, 3), {"n_power_iterations": 2}),
        ("conv", nn.ConvTranspose2d(2, 3, 3), image(), {"eps": 1e-6}),
    ]:
        nn.utils.spectral_norm(module, **given)
        found[name] = trained(module, data)
        nn.utils.remove_spectral_norm(module)
        found[name + " removed"] = state(module)
    return found


@case
def orthogonal():
    found = {}
    for sizes, kind, trivialized in [
        ((4, 4), None, True),
        ((5, 3), None, True),
        ((3, 5), "matrix_exp", True),
        ((3, 5), "cayley", True),
        ((4, 4), "cayley", False),
        ((3, 5), "householder", False),
    ]:
        module = nn.Linear(*sizes)
        data = torch.randn(2, sizes[0])
        parametrizations.orthogonal(module, "weight", kind, use_trivialization=trivialized)
        found[f"{sizes} {kind} {trivialized}"] = trained(module, data)
        if trivialized:
            module.weight = torch.randn(sizes[1], sizes[0])
        found[f"{sizes} {kind} {trivialized} set"] = [module.weight, state(module)]
        parametrize.remove_parametrizations(module, "weight")
        found[f"{sizes} {kind} {trivialized} removed"] = state(module)
    return found


@case
def spectral_parametrization():
    found = {}
    for name, module, data, given in [
        ("linear", nn.Linear(3, 4), torch.randn(5, 3), {"n_power_iterations": 2}),
        ("conv", nn.ConvTranspose2d(2, 3, 3), image(), {}),
        ("vector", nn.Linear(3, 4), torch.randn(5, 3), {"name": "bias"}),
    ]:
        parametrizations.spectral_norm(module, **given)
        found[name] = trained(module, data)
        parametrize.remove_parametrizations(module, given.get("name", "weight"))
        found[name + " removed"] = state(module)
    return found


class _WeightNorm(nn.Module):
    """As in later releases."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, g, v):
        return torch._weight_norm(v, g, self.dim)

    def right_inverse(self, weight):
        return torch.norm_except_dim(weight, 2, self.dim), weight


@case
def weight_parametrization():
    module = nn.Conv2d(2, 3, 3)
    parametrize.register_parametrization(module, "weight", _WeightNorm(1), unsafe=True)
    found = trained(module, image())
    parametrize.remove_parametrizations(module, "weight")
    return {"trained": found, "removed": state(module)}


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-2, -1)

    def right_inverse(self, x):
        return x.triu()


class Outer(nn.Module):
    def forward(self, x, y):
        return x.unsqueeze(-1) @ y.unsqueeze(-2)

    def right_inverse(self, z):
        return z[:, 0].clone(), z[0].clone()


class Doubled(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 2


@case
def own_parametrizations():
    module = nn.Linear(4, 4)
    doubled = Doubled()
    parametrize.register_parametrization(module, "weight", Symmetric())
    parametrize.register_parametrization(module, "weight", doubled)
    parametrize.register_parametrization(module, "bias", Doubled())
    found = trained(module, torch.randn(2, 4))
    before = doubled.calls
    with parametrize.cached():
        same = module.weight is module.weight
    calls = doubled.calls - before
    parametrize.remove_parametrizations(module, "bias", leave_parametrized=False)
    plain = state(module)
    parametrize.remove_parametrizations(module, "weight")
    several = parametrize.register_parametrization(nn.Linear(3, 4), "weight", Outer())
    return {
        "trained": found,
        "cached": [same, calls],
        "plain": plain,
        "removed": state(module),
        "several": trained(several, torch.randn(2, 3)),
        "several removed": state(parametrize.remove_parametrizations(several, "weight")),
    }


@case
def pruning():
    found = {}
    linear = lambda: nn.Linear(6, 5)  # noqa: E731
    for name, make, act in [
        ("identity", linear, lambda m: prune.identity(m, "weight")),
        ("random", linear, lambda m: prune.random_unstructured(m, "weight", 0.25)),
        ("l1", linear, lambda m: prune.l1_unstructured(m, "weight", 7)),
        ("scores", linear, lambda m: prune.l1_unstructured(m, "bias", 0.5, torch.tensor([5.0, 1, 4, 2, 3]))),
        ("channels", lambda: nn.Conv2d(2, 4, 3), lambda m: prune.random_structured(m, "weight", 0.5, 0)),
        ("ln", lambda: nn.Conv2d(2, 4, 3), lambda m: prune.ln_structured(m, "weight", 1, 2, 0)),
        ("infinite", linear, lambda m: prune.ln_structured(m, "weight", 0.4, float("inf"), dim=-1)),
        ("mask", linear, lambda m: prune.custom_from_mask(m, "bias", torch.tensor([1, 0, 1, 0, 1]))),
    ]:
        module = make()
        act(module)
        data = image() if isinstance(module, nn.Conv2d) else torch.randn(2, 6)
        found[name] = trained(module, data, 1)
        prune.ln_structured(module, "weight", 1, 1, dim=1)
        prune.random_unstructured(module, "weight", 2)
        prune.l1_unstructured(module, "weight", 0.1)
        found[name + " again"] = [*trained(module.train(), data, 1), prune.is_pruned(module)]
        prune.remove(module, "weight")
        found[name + " removed"] = [state(module), prune.is_pruned(module)]
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))
    places = [(net[0], "weight"), (net[1], "weight"), (net[1], "bias")]
    prune.global_unstructured(places, prune.L1Unstructured, amount=0.4)
    prune.global_unstructured(places, prune.RandomUnstructured, amount=5)
    found["global"] = state(net)
    return found


@case
def fusion():
    found = {}
    for name, layer, norm, data, given in [
        ("conv", nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), image(), []),
        ("transposed", nn.ConvTranspose2d(2, 3, 3, bias=False), nn.BatchNorm2d(3, affine=False), image(), [True]),
        ("linear", nn.Linear(3, 4), nn.BatchNorm1d(4), torch.randn(5, 3), []),
    ]:
        nn.Sequential(layer, norm).train()(data)
        fuse = nn.utils.fusion.fuse_linear_bn_eval if name == "linear" else nn.utils.fusion.fuse_conv_bn_eval
        fused = fuse(layer.eval(), norm.eval(), *given)
        found[name] = [state(fused), fused(data), [one.requires_grad for one in fused.parameters()]]
    return found


def ema(average, parameter, count):
    return 0.9 * average + (1 - 0.9) * parameter


@case
def averaged():
    found = {}
    for name, given in [("mean", {}), ("ema", {"avg_fn": ema}), ("buffers", {"avg_fn": ema, "use_buffers": True})]:
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        average = AveragedModel(net, **given)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        batches = [torch.randn(5, 3) for _ in range(4)]
        for batch in batches:
            optimizer.zero_grad(set_to_none=True)
            net(batch).mul(2).sub(1).pow(2).sum().backward()
            optimizer.step()
            average.update_parameters(net)
        found[name] = state(average)
        update_bn([[batch, 0] for batch in batches[1:]], average)
        found[name + " updated"] = [state(average), average.eval()(batches[0])]
    return found


class RMSNorm(nn.Module):
    """As in later releases."""

    def __init__(self, shape, eps):
        super().__init__()
        self.shape, self.eps = shape, eps
        self.weight = nn.Parameter(torch.ones(shape))

    def forward(self, x):
        dims = [i - len(self.shape) for i in range(len(self.shape))]
        return x * torch.rsqrt(x.pow(2).mean(dims, True) + self.eps) * self.weight


@case
def later_layers():
    x = torch.randn(2, 3, 4, 4, 5)
    given = nn.Parameter(x)
    if hasattr(nn, "LPPool3d"):
        pooled = nn.LPPool3d(2, 2, ceil_mode=True)(given)
    else:
        means = nn.functional.avg_pool3d(given.pow(2.0), 2, padding=0, ceil_mode=True)
        pooled = (torch.sign(means) * nn.functional.relu(torch.abs(means))).mul(8).pow(1.0 / 2.0)
    pooled.sum().backward()
    made = getattr(nn, "RMSNorm", RMSNorm)
    norm = made([4, 5], 1e-3)
    normed = norm(x)
    normed.pow(2).sum().backward()
    plain = made([5], torch.finfo(torch.float32).eps)(x)
    return {"pooled": [pooled, given.grad], "normed": [normed, norm.weight.grad, norm.state_dict()], "plain": plain}


with open(os.path.join(sys.argv[1], "cases.json"), "w") as file:
    json.dump({"version": torch.__version__, "cases": cases}, file)
torch.save(tensors, os.path.join(sys.argv[1], "tensors.pt"))
