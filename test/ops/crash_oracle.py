"""Makes the calls given as JSON lines on stdin in PyTorch, each in a forked process, and prints how each ended.

A line is what call-all.cjs prints with "describe". An answer is
{"call": ..., "end": "result" | "error" | "crash" | "hang"}.
"""
import json
import os
import resource
import signal
import sys
import time
import warnings

# Threads of the parent do not exist in a forked child, but the locks that they held do.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

try:
    import torch
except ImportError as error:
    sys.exit(f"PyTorch is missing, the oracle of these tests (Debian: apt-get install python3-torch): {error}")

DTYPES = {
    name: getattr(torch, name)
    for name in ("float32", "float64", "int64", "bool", "complex64", "uint8", "int32", "float16", "bfloat16")
}


def tensor(spec):
    if spec.get("zeros"):  # as autograd makes them, without memory
        return torch._efficientzerotensor(spec["shape"])
    made = torch.tensor(spec["tensor"], dtype=torch.float32 if spec["dtype"] == "complex64" else DTYPES[spec["dtype"]])
    if spec["dtype"] == "complex64":
        made = torch.view_as_complex(made.contiguous())
    made = made.reshape(spec["shape"])
    if spec["sparse"]:
        made = made.to_sparse()
    if spec.get("csr"):
        made = made.to_sparse_csr()
    if spec["quantized"]:
        made = torch.quantize_per_tensor(made, 0.1, 0, torch.quint8)
    if spec["names"]:
        made = made.refine_names("A", "B")
    if spec.get("mkldnn"):
        made = made.to_mkldnn()
    if spec.get("nested"):
        made = torch._nested_tensor_from_tensor_list([made, made])
    return made


def value(spec):
    if isinstance(spec, list):
        return [value(item) for item in spec]
    if not isinstance(spec, dict):
        return DTYPES.get(spec, spec) if isinstance(spec, str) else spec
    if "tensor" in spec:
        return tensor(spec)
    if "re" in spec:
        return complex(spec["re"], spec["im"])
    if "generator" in spec:
        return torch.Generator()
    return None


def call(line):
    op = getattr(getattr(torch.ops.aten, line["name"]), line["overload"])
    positional, keywords, gap, made = [], {}, False, []
    for argument, keyword in zip(line["args"], line["keyword"]):
        if argument["value"] == {"none": True}:
            gap = True  # its default; what follows goes by name
            continue
        given = argument["value"]
        # The tensor of an earlier argument once more.
        made.append(made[given["same"]] if isinstance(given, dict) and "same" in given else value(given))
        if keyword or gap:
            keywords[argument["name"]] = made[-1]
        else:
            positional.append(made[-1])
    return op(*positional, **keywords)


# For one call. A debugging malloc that detects a corrupted heap may deadlock on its own lock while it aborts, so a call
# that hangs counts as a crash.
SECONDS = 20
# Of processor time. A kernel that does not end uses it up much earlier, also on a busy machine.
CPU_SECONDS = 5


def wait(child):
    """The status of the child, or None if it was still running after SECONDS and had to be killed."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid != 0:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run(line):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        code = 0
        try:
            result = call(line)
            del result
        except BaseException as error:  # noqa: B902: whatever it is, the parent wants to know
            code = 1
            print(f"{line['call']}: {type(error).__name__}: {error}"[:300], flush=True, file=sys.stdout if "-v" in sys.argv else open(os.devnull, "w"))
        os._exit(code)
    status = wait(child)
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return "hang"
    if os.WIFSIGNALED(status):
        return "crash"
    return "result" if os.WEXITSTATUS(status) == 0 else "error"


warnings.simplefilter("ignore")
for text in sys.stdin:
    line = json.loads(text)
    print(json.dumps({"call": line["call"], "end": run(line)}), flush=True)
