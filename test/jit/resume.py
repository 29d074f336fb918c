"""What Python's torch.jit.load makes of a model's file: resume.py MODEL INPUT RESULT."""
import sys
import warnings

import torch

warnings.simplefilter("ignore", FutureWarning)  # PyTorch 2.14 advises against TorchScript
model, given, result = sys.argv[1:]
loaded = torch.jit.load(model)
with torch.no_grad():
    torch.save({"output": loaded(torch.load(given)), "state": dict(loaded.state_dict())}, result)
