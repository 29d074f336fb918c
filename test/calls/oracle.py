"""Evaluates the Python expressions given as a JSON list on stdin with PyTorch, and prints what they give as JSON."""
import json
import math
import sys
import warnings

try:
    import torch
    import torch.nn.functional as F  # noqa: F401: for the expressions
except ImportError as error:
    sys.exit(f"PyTorch is missing, the oracle of these tests (Debian: apt-get install python3-torch): {error}")

warnings.simplefilter("ignore")


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
    return number(value)


answers = []
for expression in json.load(sys.stdin):
    try:
        answers.append({"value": plain(eval(expression))})
    except Exception as error:
        answers.append({"error": f"{type(error).__name__}: {error}"})
json.dump(answers, sys.stdout)
