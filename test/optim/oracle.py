"""Runs optimizers and schedulers with PyTorch. stdin: a JSON object; stdout: the answers as JSON. See python.test.ts."""
import json
import math
import sys
import warnings

try:
    import torch
except ImportError as error:
    sys.exit(f"PyTorch is missing, the oracle of these tests (Debian: apt-get install python3-torch): {error}")

import checkpoints  # noqa: E402: it needs PyTorch
import schedules  # noqa: E402: it needs PyTorch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
# The safe loader of 1.13 does not know floats: it refuses its own files of optimizers too.
SAFE = {"weights_only": not torch.__version__.startswith("1.")}
STEPS = 100
SHAPES = [[4, 3], [7], [20]]


def number(value):
    return value if math.isfinite(value) else str(value)


def plain(value):
    if isinstance(value, torch.Tensor):
        dense = value.detach()
        dense = torch.view_as_real(dense) if dense.is_complex() else dense
        return {"dtype": str(value.dtype)[6:], "shape": list(value.shape), "data": [number(item) for item in dense.flatten().tolist()]}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return number(value) if isinstance(value, float) else value


def start(case):
    dtype = getattr(torch, case.get("dtype", "float32"))
    torch.manual_seed(1)
    return [torch.randn(shape, dtype=dtype).requires_grad_() for shape in case.get("shapes", SHAPES)]


def params_of(case, leaves):
    return [leaf.clone() for leaf in leaves] if case["options"].get("differentiable") else leaves


def given(value):
    if isinstance(value, dict):
        of = value["tensor"]
        return torch.tensor(of["data"], dtype=getattr(torch, of["dtype"])).reshape(of["shape"])
    return tuple(value) if isinstance(value, list) else value


def make(case, params):
    options = {key: given(value) for key, value in case["options"].items()}
    if case.get("groups"):
        groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.05}]
    else:
        groups = params
    return getattr(torch.optim, case["name"])(groups, **options)


def gradient(case, param, step, i):
    torch.manual_seed(1000 * step + i)
    if not case.get("sparse"):
        return torch.randn(param.shape, dtype=param.dtype)
    indices = torch.randint(0, param.shape[0], [1, 5])
    values = torch.randn([5, *param.shape[1:]], dtype=param.dtype)
    return torch.sparse_coo_tensor(indices, values, param.shape)


def run(case, params, optimizer, begin, end):
    for step in range(begin, end):
        if case.get("closure"):

            def closure():
                optimizer.zero_grad()
                loss = 0
                for i, p in enumerate(params):
                    apart = (p[0] * p[1]).abs()
                    apart = (apart**2 * 0.1) if case["name"] == "LBFGS" else apart
                    loss = loss + (((p.abs() - 0.3 * (i + 1)) ** 2).sum() + apart.sum())
                loss.backward()
                return loss

            optimizer.step(closure)
            continue
        for i, param in enumerate(params):
            # A parameter without a gradient takes no part in a step.
            param.grad = None if i == 1 and step % 7 == 3 else gradient(case, param, step, i)
        optimizer.step()


def gradients_through_step(case):
    leaves = start(case)
    params = params_of(case, leaves)
    run(case, params, make(case, params), 0, 1)
    return torch.autograd.grad(sum(param.sum() for param in params), leaves, allow_unused=True)


def optimized(case, n, folder):
    leaves = start(case)
    params = params_of(case, leaves)
    optimizer = make(case, params)
    half = STEPS // 2
    run(case, params, optimizer, 0, half)
    if case["resumes"]:
        torch.save({"params": [p.detach() for p in params], "optimizer": optimizer.state_dict()}, f"{folder}/{n}.python.pt")
    run(case, params, optimizer, half, STEPS)
    result = {"params": plain(params), "dict": plain(optimizer.state_dict())}
    if case["options"].get("differentiable"):
        result["through"] = plain(gradients_through_step(case))
    if not case["resumes"]:
        return result
    saved = torch.load(f"{folder}/{n}.js.pt", **SAFE)
    again = [p.clone().requires_grad_() for p in saved["params"]]
    resumed = make(case, again)
    resumed.load_state_dict(saved["optimizer"])
    run(case, again, resumed, half, STEPS)
    return {**result, "resumed": plain(again)}


def refuses(name, options):
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    try:
        getattr(torch.optim, name)([torch.zeros(2, requires_grad=True)], **options)
        return False
    except (ValueError, TypeError):
        return True


asked = json.load(sys.stdin)
answer = {
    "optimized": [optimized(case, n, asked.get("folder")) for n, case in enumerate(asked.get("optimize", []))],
    "refused": [refuses(name, options) for name, options in asked.get("refuse", [])],
    "continued": [checkpoints.answer(case, asked["folder"], plain, SAFE) for case in asked.get("checkpoint", [])],
    "scheduled": [schedules.run(case) for case in asked.get("schedule", [])],
    "defaults": {
        name: plain(make({"name": name, "options": {"lr": 0.1}}, start({})).defaults) for name in asked.get("defaults", [])
    },
}
print("ANSWER " + json.dumps(answer))
