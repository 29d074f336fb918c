"""
Records what PyTorch's modules do: argv[1] is the folder to write to. cases.json describes the calls; tensors.pt has the tensors
that it names by number. The inputs are those of PyTorch's own tests of its modules. LTN_TEST_DEVICE=cuda runs them on a GPU; the
tensors of the file are on the CPU.
"""
import inspect
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
from torch.testing._internal import common_nn  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

torch.set_num_threads(1)
device = os.environ.get("LTN_TEST_DEVICE", "cpu")
tensors = []
cases = []


made_layer = torch.nn.TransformerEncoderLayer.__init__


def remember(layer, *args, **kwargs):
    made_layer(layer, *args, **kwargs)
    layer.made_with = args, {name: value for name, value in kwargs.items() if name not in ("device", "dtype")}


# TransformerEncoder takes a layer, which is made anew on the other side.
torch.nn.TransformerEncoderLayer.__init__ = remember


class Left(Exception):
    """The case has a value that JavaScript cannot be told."""


def encoded(value):
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            value = value.to_dense()
        if value.numel() > 100_000:
            raise Left("large")
        tensors.append(value.detach().cpu().clone())
        return {"tensor": len(tensors) - 1, "grad": value.requires_grad}
    if isinstance(value, (list, tuple)):
        return {"list": [encoded(item) for item in value]}
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        args, kwargs = value.made_with
        named = {name: encoded(one) for name, one in kwargs.items()}
        return {"layer": {"args": [encoded(one) for one in args], "kwargs": named, "state": state(value)}}
    if isinstance(value, torch.nn.Module) or isinstance(value, torch.Generator):
        raise Left(type(value).__name__)
    if value is torch.nn.functional.gelu or value is torch.nn.functional.relu:
        return {"functional": value.__name__}
    if callable(value) or isinstance(value, (torch.dtype, torch.device)):
        raise Left(str(value))
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"number": str(value)}
    return value


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in flat(item)] if isinstance(value, (list, tuple)) else []


def state(module):
    return {
        name: None if torch.nn.parameter.is_lazy(tensor) else encoded(tensor)
        for name, tensor in module.state_dict(keep_vars=True).items()
    }


def fresh(value):
    """Copies of the inputs: gradients must not add up over the cases."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).clone().requires_grad_(value.requires_grad)
    return type(value)(fresh(item) for item in value) if isinstance(value, (list, tuple)) else value


def positional(module, args, kwargs):
    bound = inspect.signature(type(module).forward).bind(module, *args, **kwargs)
    bound.apply_defaults() if kwargs else None
    return list(bound.args[1:])


def record(source, cls, args, kwargs, inputs, named, training, grad=True):
    case = {"source": source, "name": cls.__name__, "training": training, "grad": grad}
    try:
        case["args"] = [encoded(arg) for arg in args]
        case["kwargs"] = {name: encoded(value) for name, value in kwargs.items()}
        torch.manual_seed(11)
        module = cls(*args, **kwargs)
        module.train(training).to(device)
        case["text"] = str(module)
        case["state"] = state(module)
        inputs = positional(module, inputs, named)
        inputs = fresh(inputs) if grad or device != "cpu" else inputs
        case["inputs"] = [encoded(one) for one in inputs]
        torch.manual_seed(12)
        # A leaf cannot be changed in place.
        passed = [one.clone() if getattr(module, "inplace", False) and i == 0 else one for i, one in enumerate(inputs)]
        with torch.set_grad_enabled(grad):
            result = module(*passed)
        case["results"] = [encoded(one) for one in flat(result)]
        differentiable = [one for one in flat(result) if one.requires_grad]
        if differentiable:
            torch.autograd.backward(differentiable, [torch.ones_like(one) for one in differentiable])
        grads = [one.grad for one in flat(inputs)] + [one.grad for one in module.parameters()]
        case["grads"] = [None if one is None else encoded(one) for one in grads]
        case["after"] = state(module)
    except Left as left:
        case = {"source": source, "name": cls.__name__, "left": str(left)}
    cases.append(case)


for info in module_db:
    for training in (True, False):
        torch.manual_seed(3)
        # Of fractional pools, later tables give random samples in float64, which Python refuses for other inputs.
        dtype = torch.float64 if info.module_cls.__name__.startswith("Fractional") else torch.float32
        for one in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training):
            made, called = one.constructor_input, one.forward_input
            if called is None:
                continue
            try:
                record("module_db", info.module_cls, made.args, made.kwargs, called.args, called.kwargs, training)
            except RuntimeError as error:
                cases.append({"source": "module_db", "name": info.module_cls.__name__, "left": str(error)})


def tensor_of(size):
    if isinstance(size, torch.Tensor) or not isinstance(size, (tuple, list, torch.Size)):
        return size
    return tuple(tensor_of(one) for one in size) if size and not isinstance(size[0], int) else torch.randn(size)


def table(rows, with_target):
    for row in rows:
        if "module_name" not in row or "constructor" in row or not hasattr(torch.nn, row["module_name"]):
            continue
        cls = getattr(torch.nn, row["module_name"])
        torch.manual_seed(5)
        args = row["constructor_args_fn"]() if "constructor_args_fn" in row else row.get("constructor_args", ())
        given = row["input_fn"]() if "input_fn" in row else row["input"] if "input" in row else row["input_size"]
        given = tensor_of(given)
        inputs = [*given] if isinstance(given, tuple) else [given]
        if with_target:
            target = row["target_fn"]() if "target_fn" in row else row.get("target", row.get("target_size"))
            target = tensor_of(target)
            inputs += [*target] if isinstance(target, tuple) else [target]
        inputs += row.get("extra_args", ())
        float_inputs = inputs[:1] if with_target else inputs
        for one in float_inputs:
            if isinstance(one, torch.Tensor) and one.is_floating_point() and one.is_leaf:
                one.requires_grad_()
        for training in (True, False):
            try:
                record("common_nn", cls, args, {}, inputs, {}, training)
            except Exception as error:
                cases.append({"source": "common_nn", "name": cls.__name__, "left": f"{type(error).__name__}: {error}"})


table(common_nn.module_tests, False)
# A function from 2.14 on.
new = getattr(common_nn, "get_new_module_tests", None)
table(common_nn.new_module_tests if new is None else new(), False)
table(common_nn.criterion_tests, True)

# Without gradients, attention in evaluation uses fused ops.
torch.manual_seed(6)
batch = torch.randn(2, 4, 8)
padding = torch.tensor([[False] * 4, [False, False, True, True]])
for given in ([batch], [batch, None, padding]):
    record("fused", torch.nn.TransformerEncoderLayer, [8, 2, 16], {"batch_first": True}, given, {}, False, False)
for given in ([batch, batch, batch], [batch, batch, batch, padding, False]):
    record("fused", torch.nn.MultiheadAttention, [8, 2], {"batch_first": True}, given, {}, False, False)
# Masks, with which later releases use fused ops too; causal ones are recognized.
before = torch.ones(4, 4).triu(1).bool()
causal = torch.zeros(4, 4).masked_fill_(before, float("-inf"))
for given in ([batch, before], [batch, before, padding], [batch, causal]):
    record("masked", torch.nn.TransformerEncoderLayer, [8, 2, 16], {"batch_first": True}, given, {}, False, False)
for given in ([before], [before.expand(4, 4, 4)], [causal], [causal.expand(4, 4, 4)]):
    for needs in (True, False):
        for mask in (None, padding):
            given_all = [batch, batch, batch, mask, needs, *given]
            record("masked", torch.nn.MultiheadAttention, [8, 2, 0.5], {"batch_first": True}, given_all, {}, False, False)
options = {"batch_first": True, "dropout": 0.0}
for grad in (True, False):
    for given in ([], [causal, causal], [None, before, None, padding], [before, before, None, padding, padding, padding]):
        record("masked", torch.nn.Transformer, [8, 2, 2, 2, 16], options, [batch, batch, *given], {}, grad, grad)
        record("masked", torch.nn.TransformerDecoderLayer, [8, 2, 16], options, [batch, batch, *given[1:4]], {}, grad, grad)

# (function, shape, arguments): torch.nn.init
INITS = [
    ("uniform_", [3, 4], []),
    ("uniform_", [3, 4], [-0.5, 0.25]),
    ("normal_", [5, 7], [1.0, 0.1]),
    ("trunc_normal_", [5, 7], []),
    ("trunc_normal_", [5, 7], [0.5, 2.0, -1.0, 3.0]),
    ("constant_", [3], [0.3]),
    ("ones_", [3], []),
    ("zeros_", [3], []),
    ("eye_", [3, 4], []),
    ("dirac_", [4, 3, 3], []),
    ("dirac_", [6, 2, 3, 3], [2]),
    ("xavier_uniform_", [4, 3, 2], [0.7]),
    ("xavier_normal_", [4, 3], []),
    ("kaiming_uniform_", [4, 3], [0.1, "fan_out"]),
    ("kaiming_uniform_", [4, 3, 2, 2], [0, "fan_in", "relu"]),
    ("kaiming_normal_", [4, 3], []),
    ("orthogonal_", [4, 6], [1.5]),
    ("orthogonal_", [6, 2, 2], []),
    ("sparse_", [10, 4], [0.3, 0.1]),
]
inits = []
for function, shape, given in INITS:
    tensor = torch.zeros(shape)
    torch.manual_seed(21)
    getattr(torch.nn.init, function)(tensor, *given)
    inits.append({"function": function, "shape": shape, "args": given, "result": encoded(tensor)})

gradients = [torch.randn(3, 4), torch.randn(5)]
clips = []
for function, given in [("clip_grad_norm_", [1.0]), ("clip_grad_norm_", [0.5, float("inf")]), ("clip_grad_value_", [0.4])]:
    parameters = [torch.nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient.clone()
    before = encoded(gradients)
    result = getattr(torch.nn.utils, function)(parameters, *given)
    clips.append(
        {
            "function": function,
            "before": before,
            "args": [encoded(one) for one in given],
            "result": encoded([result] if isinstance(result, torch.Tensor) else []),
            "after": encoded([parameter.grad for parameter in parameters]),
        }
    )


def convolves():
    """Whether a small convolution has the right gradient: oneDNN as Debian 13 has it fails on some processors."""
    found = []
    for enabled in (True, False):
        torch.manual_seed(1)
        image, kernel = torch.randn(2, 3, 6, 6, requires_grad=True), torch.randn(4, 3, 3, 3)
        with torch.backends.mkldnn.flags(enabled=enabled):
            torch.nn.functional.conv2d(image, kernel).sum().backward()
        found.append(image.grad)
    return torch.allclose(*found, atol=1e-4)


classes = [name for name in dir(torch.nn) if isinstance(getattr(torch.nn, name), type)]
resets = [name for name in classes if hasattr(getattr(torch.nn, name), "reset_parameters")]
recorded = {"classes": classes, "resets": resets, "cases": cases, "inits": inits, "clips": clips, "convolves": convolves()}
with open(os.path.join(sys.argv[1], "cases.json"), "w") as file:
    json.dump({"version": torch.__version__, **recorded}, file)
torch.save(tensors, os.path.join(sys.argv[1], "tensors.pt"))
