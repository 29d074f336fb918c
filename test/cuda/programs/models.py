"""Makes the models that models.mjs runs, with inputs and results: argument 1 is the folder."""
import os
import sys

import torch
from torch import nn

folder = sys.argv[1]
device = os.environ.get('LTN_TEST_DEVICE', 'cuda')
torch.manual_seed(7)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        return self.last(x.mean([2, 3])).softmax(1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 12, 2, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c


class Pointwise(nn.Module):
    """TorchScript fuses this into one kernel after a few calls."""

    def forward(self, x, y):
        return ((x * y + x).sigmoid() * y - x).tanh()


def scripted(name, model, *inputs):
    model = model.to(device).eval()
    torch.jit.script(model).save(os.path.join(folder, f'{name}.pt'))
    with torch.no_grad():
        output = model(*inputs)
    torch.save({'inputs': list(inputs), 'output': output}, os.path.join(folder, f'{name}.values.pt'))


def compiled(name, model, *inputs, **options):
    model = model.to(device).eval()
    with torch.no_grad():
        program = torch.export.export(model, inputs, **options)
        torch._inductor.aoti_compile_and_package(program, package_path=os.path.join(folder, f'{name}.pt2'))
        output = model(*inputs)
    torch.save({'inputs': list(inputs), 'output': output}, os.path.join(folder, f'{name}.pt2.values.pt'))


images = torch.randn(4, 3, 16, 16, device=device)
scripted('convolutions', Convolutions(), images)
scripted('recurrent', Recurrent(), torch.randn(3, 7, 6, device=device))
scripted('pointwise', Pointwise(), torch.randn(64, 64, device=device), torch.randn(64, 64, device=device))
if len(sys.argv) > 2:
    batch = torch.export.Dim('batch', min=1, max=1024)
    mlp = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(1))
    compiled('mlp', mlp, torch.randn(5, 6, device=device), dynamic_shapes={'input': {0: batch}})
    compiled('convolutions', Convolutions(), images)
