"""Python's side of checkpoints.test.ts: a run that is saved at its half, and one that continues the file of the other side."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.3)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.drop(F.relu(self.norm(self.first(x)))))


class Run:
    def __init__(self, case):
        torch.manual_seed(1)
        self.net = Net()
        options = {key: tuple(value) if isinstance(value, list) else value for key, value in case["options"].items()}
        self.optimizer = getattr(torch.optim, case["optimizer"])(self.net.parameters(), **options)
        self.scheduler = getattr(torch.optim.lr_scheduler, case["scheduler"])(self.optimizer, **case["schedule"])
        self.generator = torch.Generator().manual_seed(2)
        self.losses = []

    def advance(self, steps):
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            x = torch.randn([16, 6], generator=self.generator)
            y = torch.randint(0, 3, [16], generator=self.generator)
            loss = F.cross_entropy(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
            if isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                self.scheduler.step(loss.item())
            else:
                self.scheduler.step()

    def state(self):
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "random": torch.get_rng_state(),
            "generator": self.generator.get_state(),
        }

    def load(self, saved):
        self.net.load_state_dict(saved["net"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.scheduler.load_state_dict(saved["scheduler"])
        torch.set_rng_state(saved["random"])
        self.generator.set_state(saved["generator"])


def answer(case, folder, plain, safe):
    half = case["steps"] // 2
    whole = Run(case)
    whole.advance(half)
    torch.save(whole.state(), f"{folder}/{case['optimizer']}.python.pt")
    whole.advance(half)
    result = {"losses": whole.losses, "state": plain(whole.state())}
    resumed = Run(case)
    resumed.load(torch.load(f"{folder}/{case['optimizer']}.js.pt", **safe))
    resumed.advance(half)
    return {"whole": result, "resumed": {"losses": resumed.losses, "state": plain(resumed.state())}}
