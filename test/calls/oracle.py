"""Evaluates Python expressions with PyTorch: each line of stdin is a JSON list of them, each line of stdout their results."""
import json
import math
import sys
import warnings

import torch
import torch.nn.functional as F  # noqa: F401: for the expressions
import torch.utils.checkpoint  # noqa: F401

warnings.simplefilter("ignore")


def seeded(fn):
    """The result of fn after seeding, so that both sides draw the same random numbers."""
    torch.manual_seed(7)
    return fn()


def grads(fn, *tensors):
    """The gradients of the sum of the result of fn (its first tensor) with respect to copies of the tensors."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    result = fn(*leaves)
    (result[0] if isinstance(result, (list, tuple)) else result).sum().backward()
    return [leaf.grad for leaf in leaves]


def grad_of(fn, *tensors):
    """torch.autograd.grad of all results of fn with respect to those of the tensors that can have gradients."""
    leaves = [
        tensor.detach().clone().requires_grad_() if tensor.is_floating_point() or tensor.is_complex() else tensor
        for tensor in tensors
    ]
    result = fn(*leaves)
    results = result if isinstance(result, (list, tuple)) else [result]
    outputs = [item for item in results if isinstance(item, torch.Tensor) and item.requires_grad]
    inputs = [leaf for leaf in leaves if leaf.requires_grad]
    if not outputs:
        return []
    return list(torch.autograd.grad(outputs, inputs, [torch.ones_like(item) for item in outputs], allow_unused=True))


def number(value):
    if isinstance(value, complex):
        return {"re": number(value.real), "im": number(value.imag)}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def plain(value):
    if isinstance(value, torch.Tensor):
        dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
        flat = [number(item) for item in dense.flatten().tolist()] if dense.ndim else [number(dense.item())]
        return {"dtype": str(value.dtype)[6:], "shape": list(value.shape), "data": flat, "text": str(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, torch.dtype):
        return str(value)[6:]
    return number(value)


def answer(expression):
    try:
        return {"value": plain(eval(expression))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    print(json.dumps([answer(expression) for expression in json.loads(line)]), flush=True)
