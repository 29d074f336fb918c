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

import torch.nn.utils.rnn as rnn
from torch import nn

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


with open(os.path.join(sys.argv[1], "cases.json"), "w") as file:
    json.dump({"version": torch.__version__, "cases": cases}, file)
torch.save(tensors, os.path.join(sys.argv[1], "tensors.pt"))
