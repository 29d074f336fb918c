"""What PyTorch's namespaces hold, and what codegen/spec/public.yaml says of them, as JSON."""
import inspect
import json
import re
import sys
import types

import torch
import torch.nn.functional as F
import yaml


def functions(space):
    """Public callable names of a module, without classes."""
    names = []
    for name in dir(space):
        value = getattr(space, name)
        if not name.startswith("_") and callable(value) and not inspect.isclass(value):
            names.append(name)
    return names


def others(space):
    """Its other public names: classes, modules and values, without names from imports."""
    names = []
    for name in dir(space):
        value = getattr(space, name)
        if name.startswith("_") or callable(value) and not inspect.isclass(value):
            continue
        if space is not torch and (value is torch or value is getattr(torch, name, None) or isinstance(value, (str, dict))):
            continue
        if isinstance(value, types.ModuleType) and not value.__name__.startswith(space.__name__ + "."):
            continue
        if inspect.isclass(value) and not (value.__module__ or "").startswith("torch"):
            continue
        if name == "TYPE_CHECKING":
            continue
        names.append(name)
    return names


def constants():
    """Names of dtypes, layouts and memory formats, with their names here."""
    found = {}
    for name in dir(torch):
        value = getattr(torch, name)
        if re.fullmatch(r"u?int[1-7]|bits\w+|jagged", name):
            continue  # of PyTorch 2: names without ops in libtorch
        if isinstance(value, (torch.dtype, torch.layout)):
            found[name] = str(value).replace("torch.", "")
        elif isinstance(value, torch.memory_format) and not name.startswith("legacy"):
            found[name] = str(value).replace("torch.", "").replace("_format", "")
    return found


with open(sys.argv[1], encoding="utf-8") as file:
    spec = yaml.safe_load(file)


def entry(group, function):
    plain = isinstance(function, str)
    schemas = [function] if plain else function["schemas"]
    return {
        "name": schemas[0].split("(")[0],
        "schemas": schemas,
        "spaces": group["spaces"] if plain or "spaces" not in function else function["spaces"],
        "file": group["file"],
        "needs": group.get("needs"),
        "reason": group["reason"] if plain or "reason" not in function else function["reason"],
    }


print(json.dumps({
    "pytorch": {
        "torch": functions(torch),
        "nn.functional": functions(F),
        "linalg": functions(torch.linalg),
        "fft": functions(torch.fft),
        "special": functions(torch.special),
        "sparse": functions(torch.sparse),
        "Tensor": [name for name in dir(torch.Tensor) if not name.startswith("_")],
    },
    "version": torch.__version__,
    "others": {
        "torch": others(torch),
        "nn.functional": others(F),
        "nn": others(torch.nn),
        "linalg": others(torch.linalg),
        "fft": others(torch.fft),
        "special": others(torch.special),
        "sparse": others(torch.sparse),
        "autograd": functions(torch.autograd) + others(torch.autograd),
    },
    "constants": constants(),
    "functions": [entry(group, function) for group in spec["groups"] for function in group["functions"]],
    "namespaces": spec["namespaces"],
    "left_out": spec["left_out"],
}))
