"""PyTorch's data loader: `data.py epoch ROWS PASSES` or `data.py images WORKERS FOLDER`, figures as a line of JSON."""

import json
import os
import random
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.set_num_threads(int(os.environ.get('BENCH_THREADS', '1')))


def epoch(rows, passes):
    dataset = TensorDataset(torch.randn(rows, 16), torch.arange(rows))
    loader = DataLoader(dataset, batch_size=64, shuffle=True)
    taken = []
    for _ in range(passes + 1):
        start = time.perf_counter()
        for _ in loader:
            pass
        taken.append(1000 * (time.perf_counter() - start))
    return {'ms': min(taken[1:])}


class Pictures(Dataset):
    """What torchvision's ImageFolder with Resize, CenterCrop, RandomHorizontalFlip and PILToTensor does."""

    def __init__(self, folder):
        self.files = []
        for label, name in enumerate(sorted(os.listdir(folder))):
            files = sorted(os.listdir(os.path.join(folder, name)))
            self.files += [(os.path.join(folder, name, file), label) for file in files]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        from PIL import Image

        file, label = self.files[index]
        image = Image.open(file).convert('RGB')
        w, h = image.size
        w, h = (224, int(224 * h / w)) if w < h else (int(224 * w / h), 224)
        image = image.resize((w, h), Image.BILINEAR)
        left, top = (w - 224) // 2, (h - 224) // 2
        image = image.crop((left, top, left + 224, top + 224))
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(224, 224, 3).permute(2, 0, 1), label


def images(workers, folder):
    loader = DataLoader(
        Pictures(folder), batch_size=32, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    for _ in loader:  # the workers start; a pass that ends early would leave batches under way
        pass
    start = time.perf_counter()
    count = sum(len(labels) for _, labels in loader)
    return {'perSecond': count / (time.perf_counter() - start)}


if __name__ == '__main__':
    name, *args = sys.argv[1:]
    if name == 'images':
        try:
            import PIL  # noqa: F401
        except ImportError:
            print(json.dumps({'missing': 'Pillow'}))
            sys.exit()
        print(json.dumps(images(int(args[0]), args[1])))
    else:
        print(json.dumps(epoch(int(args[0]), int(args[1]))))
