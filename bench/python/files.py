"""torch.save and torch.load of PyTorch: `files.py BYTES`. The tensors are those of bench/node/files.cjs."""

import os
import shutil
import sys
import tempfile

import torch
from serve import serve

COUNT = 64
folder = tempfile.mkdtemp(prefix='bench-files-')
path = os.path.join(folder, 'state.pt')
state = {f'weight{i}': torch.full((int(sys.argv[1]) // 4 // COUNT,), float(i)) for i in range(COUNT)}


def save():
    torch.save(state, path)


def synced():
    """As libtorch-node saves: beside the old file, which is replaced when the data is on the disk."""
    beside = f'{path}.partial'
    torch.save(state, beside)
    descriptor = os.open(beside, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    os.replace(beside, path)


def load():
    torch.load(path)


try:
    synced()
    serve({'save': save, 'synced': synced, 'load': load})
finally:
    shutil.rmtree(folder)
