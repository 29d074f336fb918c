"""Runs one schedule over 100 epochs: the rates of each, the state in the middle, and a run resumed from the other side's."""
import math

import torch
from torch.optim import lr_scheduler

EPOCHS = 100


def metric(epoch):
    return 1 / (1 + epoch) if epoch < 20 else 0.05 + ((epoch * 7) % 5) * 0.001


def lr_lambda(epoch):
    return 1 / (1 + 0.1 * epoch)


def make(case, optimizer):
    if case["name"] == "SequentialLR":
        inner = [make(one, optimizer) for one in case["of"]]
        return lr_scheduler.SequentialLR(optimizer, inner, case["options"]["milestones"])
    if case["name"] == "ChainedScheduler":
        return lr_scheduler.ChainedScheduler([make(one, optimizer) for one in case["of"]])
    options = dict(case["options"])
    if "Lambda" in case["name"] or case["name"] == "MultiplicativeLR":
        options["lr_lambda"] = lr_lambda
    if case["name"] == "SWALR":
        return torch.optim.swa_utils.SWALR(optimizer, **options)
    return getattr(lr_scheduler, case["name"])(optimizer, **options)


def start(case):
    params = [torch.zeros(2, requires_grad=True) for _ in range(2)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.37}]
    optimizer = getattr(torch.optim, case.get("optimizer", "SGD"))(groups, lr=0.1)
    return optimizer, make(case, optimizer)


def advance(case, optimizer, scheduler, begin, end):
    rows = []
    for epoch in range(begin, end):
        optimizer.step()
        scheduler.step(metric(epoch)) if case["name"] == "ReduceLROnPlateau" else scheduler.step()
        rows.append([[g["lr"], g.get("momentum"), list(g.get("betas", []))] for g in optimizer.param_groups])
    return rows


def keys(state):
    """Dictionaries of JSON have strings as keys."""
    if isinstance(state, dict):
        return {int(key) if key.isdigit() else key: keys(value) for key, value in state.items()}
    return [keys(value) for value in state] if isinstance(state, list) else state


def is_plain(value):
    if isinstance(value, dict):
        return all(is_plain(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return all(is_plain(item) for item in value)
    return value is None or isinstance(value, (int, float, str, bool))


def finite(value):
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def run(case):
    optimizer, scheduler = start(case)
    half = EPOCHS // 2
    first = [[[g["lr"], g.get("momentum"), list(g.get("betas", []))] for g in optimizer.param_groups]]
    rows = first + advance(case, optimizer, scheduler, 0, half)
    state = {key: finite(value) for key, value in scheduler.state_dict().items() if is_plain(value)}
    groups = optimizer.state_dict()["param_groups"]
    rows += advance(case, optimizer, scheduler, half, EPOCHS)
    again, resumed = start(case)
    again.load_state_dict({"state": {}, "param_groups": case["saved"]["groups"]})
    resumed.load_state_dict(keys(case["saved"]["state"]))
    return {"rows": rows, "state": state, "groups": groups, "resumed": advance(case, again, resumed, half, EPOCHS)}
