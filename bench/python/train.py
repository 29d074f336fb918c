"""Training steps from PyTorch: the nets of bench/node/train.cjs. See bench/cpp/serve.h for the protocol."""

import torch
from torch import nn
from serve import serve

torch.manual_seed(0)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, dim_feedforward=256, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4)
        self.scores = nn.Linear(64, 10)

    def forward(self, x):
        return self.scores(self.encoder(x).mean(1))


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    )


def step_of(net, x):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    labels = torch.arange(x.shape[0]).remainder(10)

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(x), labels).backward()
        optimizer.step()

    return step


LOOPS = {
    'mlp': step_of(mlp(), torch.randn(32, 784)),
    'cnn': step_of(cnn(), torch.randn(64, 1, 16, 16)),
    'transformer': step_of(Transformer(), torch.randn(8, 32, 64)),
}

serve(LOOPS)
