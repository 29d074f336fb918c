"""Runs the calls with PyTorch. Two lines of JSON for each: the call; then the operators that it ran, and its result.

    pytorch.py RECORDER EVERY

Of the calls of each signature the first three, and one in EVERY of the others.
"""
import ctypes
import json
import math
import sys
import warnings

import torch

from cases import cases
from signatures import signatures

warnings.simplefilter("ignore")
torch.set_num_threads(1)
recorder = ctypes.CDLL(sys.argv[1])
recorder.recorder_stop.restype = ctypes.c_char_p

TENSORS = {
    "f": lambda: torch.arange(1.0, 10).view(3, 3) / 4,
    "g": lambda: torch.arange(9.0).view(3, 3) / 8 - 0.5,
    "i": lambda: torch.arange(9).view(3, 3) % 3,
    "b": lambda: torch.arange(9).view(3, 3) % 2 == 0,
    "z": lambda: torch.tensor(2.5),
    "zi": lambda: torch.tensor(1),
    "v": lambda: torch.arange(1.0, 4),
    "c": lambda: torch.complex(torch.arange(1.0, 10).view(3, 3), torch.ones(3, 3)),
}


def decode(value):
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    if kind == "t":
        return TENSORS[content]()
    if kind == "c":
        return complex(*content)
    if kind == "g":
        return torch.Generator().manual_seed(content)
    return getattr(torch, content)


def number(value):
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def encode(value):
    if isinstance(value, torch.Tensor):
        shown = {"dtype": str(value.dtype)[6:], "shape": list(value.shape), "device": value.device.type}
        if value.device.type == "cpu" and value.layout == torch.strided and value.numel() <= 64 and not value.is_quantized:
            shown["data"] = [number(item) for item in value.detach().resolve_conj().resolve_neg().flatten().tolist()]
        return shown
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, (bool, int, float, complex, str)) or value is None:
        return number(value)
    return {"object": str(value)}


# Such arguments crash libtorch itself: reads and writes out of bounds, divisions by zero.
DEADLY = {"lstm_cell", "quantized_lstm_cell", "choose_qparams_optimized", "native_channel_shuffle", "align_to"}


def ends_the_process(case):
    values = [*case["args"], *case["kwargs"].values()]
    if case["name"] == "flatten":
        return len(case["args"]) > (2 if "self" in case else 3) or "out_dim" in case["kwargs"]
    if case["name"] == "histogramdd":  # fewer bins than columns: what lies behind them in memory is a number of bins
        return any(isinstance(value, list) and len(value) < 3 for value in values)
    return case["name"] in DEADLY or (case["name"] in {"cat", "concat", "concatenate"} and [] in values)


seen = set()
every = int(sys.argv[2])
for signature in signatures():
    for at, case in enumerate(cases(signature)):
        if at >= 3 and at % every != 0:
            continue
        key = json.dumps(case, sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        if ends_the_process(case):
            continue
        args = [decode(value) for value in case["args"]]
        kwargs = {name: decode(value) for name, value in case["kwargs"].items()}
        if "self" in case:
            args.insert(0, TENSORS[case["self"]]())
        sys.stdout.write(json.dumps(case) + "\n")
        sys.stdout.flush()
        torch.manual_seed(0)
        answer = {}
        recorder.recorder_start()
        try:
            result = signature.function(*args, **kwargs)
            answer["ops"] = recorder.recorder_stop().decode()
            answer["value"] = encode(result)
        except Exception as error:
            answer["ops"] = recorder.recorder_stop().decode()
            answer["error"] = f"{type(error).__name__}: {str(error)[:300]}"
        sys.stdout.write(json.dumps(answer) + "\n")
