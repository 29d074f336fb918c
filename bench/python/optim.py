"""Steps of optimizers from PyTorch. See bench/cpp/ops.cpp for the protocol."""

import torch
from serve import serve


def step_of(name, **options):
    parameters = [torch.randn(1000).requires_grad_() for _ in range(100)]
    for parameter in parameters:
        parameter.grad = torch.randn(1000)
    return getattr(torch.optim, name)(parameters, **options).step


LOOPS = {
    'sgd': step_of('SGD', lr=1e-3, momentum=0.9),
    'adam': step_of('Adam', lr=1e-3),
    'adamw': step_of('AdamW', lr=1e-3),
}
# Older releases have fused steps on no CPU.
if tuple(int(part) for part in torch.__version__.split('.')[:2]) >= (2, 4):
    LOOPS['fused'] = step_of('Adam', lr=1e-3, fused=True)

serve(LOOPS)
