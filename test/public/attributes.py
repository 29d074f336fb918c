"""The attributes and the methods of PyTorch's Tensor, and the values of autograd's attributes, as JSON."""
import inspect
import json
import types

import torch

ATTRIBUTE = (property, types.GetSetDescriptorType, types.MemberDescriptorType)


def kinds():
    attributes, methods = [], []
    for name in dir(torch.Tensor):
        if name.startswith("__"):
            continue
        value = inspect.getattr_static(torch.Tensor, name)
        if isinstance(value, ATTRIBUTE):
            attributes.append(name)
        elif callable(value):
            methods.append(name)
    return {"attributes": attributes, "methods": methods}


def of_autograd(t):
    return [t.is_leaf, t.requires_grad, t.retains_grad, t.output_nr]


def values():
    plain = torch.ones(4)
    leaf = torch.ones(4, requires_grad=True)
    made = leaf * 2
    first, second = leaf.split(2)
    with torch.no_grad():
        within = leaf * 2
        view = leaf[:2]
    kept = leaf * 2
    kept.retain_grad()
    leaf_kept = torch.ones(4, requires_grad=True)
    leaf_kept.retain_grad()
    joined = torch.ones(4)
    before = joined._version
    joined.add_(1)
    joined.add_(leaf)
    with torch.inference_mode():
        inferred = leaf * 2
    return {
        "plain": of_autograd(plain),
        "leaf": of_autograd(leaf),
        "made": of_autograd(made),
        "first": of_autograd(first),
        "second": of_autograd(second),
        "detached": of_autograd(made.detach()),
        "within": of_autograd(within),
        "view": of_autograd(view),
        "kept": of_autograd(kept),
        "leafKept": of_autograd(leaf_kept),
        "joined": of_autograd(joined),
        "inferred": of_autograd(inferred),
        "writes": [joined._version - before],
    }


print(json.dumps({**kinds(), "values": values()}))
