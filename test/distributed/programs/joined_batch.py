"""What BatchNorm of PyTorch makes of whole batches: `python joined_batch.py FILE`, for sync-batch-norm.mjs."""
import sys

import torch
from torch import nn

torch.manual_seed(5)
saved = {}
for name, shape, splits, momentum, dtype in [
    ('rows', [7, 3], [4, 3], 0.1, torch.float32),
    ('images, one rank without any', [5, 2, 4, 3], [5, 0], 0.2, torch.float32),
    ('averages in float64', [6, 4, 5], [1, 5], None, torch.float64),
]:
    x = (torch.randn(shape, dtype=dtype) * 3 + 2)
    channels = shape[1]
    norm = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}[len(shape)](channels, momentum=momentum).to(dtype)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 2)
        norm.bias.uniform_(-1, 1)
    coefficients = torch.randn(shape, dtype=dtype)
    steps = []
    for _ in range(2):
        given = x.clone().requires_grad_()
        norm.zero_grad()
        out = norm(given)
        (out * coefficients).sum().backward()
        steps.append({
            'out': out.detach().clone(), 'gradX': given.grad, 'gradWeight': norm.weight.grad.clone(),
            'gradBias': norm.bias.grad.clone(), 'mean': norm.running_mean.clone(), 'variance': norm.running_var.clone(),
        })
    saved[name] = {
        'x': x, 'weight': norm.weight.detach(), 'bias': norm.bias.detach(), 'coefficients': coefficients,
        'splits': splits, 'steps': steps, 'momentum': momentum,
    }
torch.save(saved, sys.argv[1])
