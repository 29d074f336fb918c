"""Writes samples.json: calls of PyTorch's own tests (its op_db), as plans without values (plan.cjs) for samples.cjs.

    python3 test/fuzz/samples.py && npx biome check --write test/fuzz/samples.json

It needs PyTorch with torch.testing; what that imports for tests alone (expecttest) is replaced. A tensor without a dtype has
that of the call. Of each op, up to MAX_SAMPLES that differ in more than dtypes are kept.
"""
import json
import pathlib
import sys
import types
import unittest

import torch

sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=False))
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

MAX_SAMPLES = 10
MAX_ELEMENTS = 4096


class Unusable(Exception):
    """A value that a plan cannot have."""


def plan_of(value, base):
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.numel() > MAX_ELEMENTS:
            raise Unusable
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype not in ("bool", "int64", "float32", "float64", "complex64"):
            raise Unusable
        return {"tensor": list(value.shape), **({} if value.dtype == base else {"dtype": dtype})}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if abs(value) < 1e300 else {"number": {float("inf"): "Infinity", -float("inf"): "-Infinity"}.get(value, "NaN")}
    if isinstance(value, complex):
        return {"re": value.real, "im": value.imag}
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (list, tuple)):
        return [plan_of(one, base) for one in value]
    raise Unusable


def samples_of(op):
    found = {}
    for base in (torch.float32, torch.int64, torch.complex64):
        if base not in op.supported_dtypes("cpu"):
            continue
        for sample in op.sample_inputs("cpu", base):
            try:
                args = [plan_of(one, base) for one in (sample.input, *sample.args)]
                call = [args, {name: plan_of(one, base) for name, one in sample.kwargs.items()}]
            except Unusable:
                continue
            found.setdefault(json.dumps(call), call)
    calls = list(found.values())
    step = max(1, len(calls) / MAX_SAMPLES)
    return [calls[int(i * step)] for i in range(min(MAX_SAMPLES, len(calls)))]


torch.manual_seed(0)
samples = {}
for op in op_db:
    try:
        calls = samples_of(op)
    except (RuntimeError, ImportError, AttributeError):  # samples that need another package or a device
        continue
    if calls:
        samples.setdefault(op.name, []).extend(calls[: MAX_SAMPLES - len(samples.get(op.name, []))])
lines = [f"  {json.dumps(name)}: {json.dumps(samples[name], separators=(',', ':'))}" for name in sorted(samples)]
path = pathlib.Path(__file__).with_name("samples.json")
path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
print(f"{path}: {len(samples)} ops, {sum(map(len, samples.values()))} calls, {path.stat().st_size} bytes")
