"""Makes the files that training.mjs reads: argument 1 is the folder."""
import os
import sys

import torch

folder = sys.argv[1]
device = 'cuda'


def save(value, name):
    torch.save(value, os.path.join(folder, name))


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3)).to(device).eval()
save({'weight': model[0].weight.detach()}, 'state.pt')
torch.jit.script(model).save(os.path.join(folder, 'script.pt'))
x = torch.randn(2, 1, 8, 8, device=device)
y = model(x).detach()
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4)).to(device)
save(net.state_dict(), 'initial.pt')
inputs = torch.randn(64, 16, device=device)
targets = torch.randn(64, 4, device=device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01, foreach=False)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(inputs), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
save({'losses': torch.tensor(losses, dtype=torch.float64)}, 'steps.pt')
torch.manual_seed(5)
random = torch.randn(8, device=device)
save({'x': x, 'y': y, 'random': random, 'inputs': inputs, 'targets': targets}, 'expected.pt')
