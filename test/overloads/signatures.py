"""The signatures of PyTorch's own argument parser, read from its library's string constants.

`add(Tensor input, Tensor other, *, Scalar alpha=1, Tensor out=None)`: a function names its tensor `input`, a method has
none of it. Only names that PyTorch's public namespaces have are kept, so that both sides call what users call.
"""
import glob
import os
import re

import torch
import torch.nn.functional as F

NAMESPACES = {
    "linalg_": ("linalg", torch.linalg),
    "fft_": ("fft", torch.fft),
    "special_": ("special", torch.special),
}


class Param:
    def __init__(self, text, keyword_only):
        left, _, default = text.partition("=")
        kind, _, self.name = left.strip().rpartition(" ")
        self.optional = "=" in text
        self.default = default
        self.keyword_only = keyword_only
        self.nullable = kind.endswith("?") or default == "None"
        kind = kind.rstrip("?")
        size = re.search(r"\[(\d+)\]$", kind)
        self.size = int(size.group(1)) if size else 0
        self.kind = re.sub(r"\[\d+\]$", "", kind).replace("SymInt", "Int").replace("IntArrayRef", "IntList")
        self.kind = {"Int": "int64_t", "c10::string_view": "str"}.get(self.kind, self.kind)


class Signature:
    """One overload under one public name."""

    def __init__(self, text, space, name, function, method):
        self.text, self.space, self.name, self.function, self.method = text, space, name, function, method
        self.params = []
        keyword_only = False
        inside = text[text.index("(") + 1 : text.rindex(")")]
        for part in split(inside):
            if part == "*":
                keyword_only = True
            elif part:
                self.params.append(Param(part, keyword_only))


def split(text):
    """Splits at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += character in "<[(" and 1 or character in ">])" and -1 or 0
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def library():
    folders = [os.path.join(torch.__path__[0], "lib"), "/usr/lib/x86_64-linux-gnu"]
    found = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "libtorch_python.so*")))]
    if not found:
        raise SystemExit(f"libtorch_python.so was not found in {folders}")
    return os.path.realpath(found[0])


def signatures():
    with open(library(), "rb") as file:
        constants = re.findall(rb"[\x20-\x7e]{6,}", file.read())
    texts = [text.decode() for text in constants if re.fullmatch(rb"[A-Za-z]\w*\([^()]*(\([^()]*\)[^()]*)*\)", text)]
    for text in dict.fromkeys(texts):
        name = text[: text.index("(")]
        if name.startswith("_") or "args..." in text:
            continue
        inside = text[text.index("(") :]
        if not re.search(r"\b(Tensor|Scalar|int64_t|Int|IntArrayRef|SymInt\w*|Dimname\w*|double|bool|ScalarType|Device)\b", inside) and inside != "()":
            continue
        own = [(space, short, holder) for prefix, (space, holder) in NAMESPACES.items()
               if name.startswith(prefix) for short in [name[len(prefix):]]]
        space, short, holder = own[0] if own else ("torch", name, torch)
        function = getattr(holder, short, None)
        takes_input = re.search(r"\((Tensor|TensorList) (input|tensors)\b", text) is not None
        if callable(function) and (takes_input or not hasattr(torch.Tensor, name)):
            yield Signature(text, space, short, function, False)
        elif callable(getattr(F, name, None)) and not own and takes_input:
            yield Signature(text, "F", name, getattr(F, name), False)
        elif callable(getattr(torch.Tensor, name, None)):
            yield Signature(text, "method", name, getattr(torch.Tensor, name), True)
