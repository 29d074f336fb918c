"""The calls that every signature of the parser is tried with: each argument in each form that might choose another overload.

A value is plain JSON, or {"t": name} for a tensor, {"c": [re, im]}, {"dtype": …}, {"layout": …}, {"memory": …}, {"g": seed}.
"""
T = {name: {"t": name} for name in "f g i b z zi v c".split()}
SCALARS = [2, 2.5, -1, True, {"c": [1.5, -2.0]}, T["z"], T["zi"]]
FORMS = {
    "Tensor": [T["f"], T["i"], T["b"], T["z"], T["zi"], T["v"], T["c"], 2, 2.5, True, {"c": [1.5, -2.0]}, "x"],
    "Scalar": [*SCALARS, T["f"], "x"],
    "int64_t": [1, 0, -1, 1.5, True, T["zi"], T["z"], "x"],
    "double": [0.5, 1, T["z"], "x"],
    "bool": [True, False, 1],
    "IntList": [[1], 1, [0, 1], [3, 3], [1.5], T["zi"]],
    "ScalarType": [{"dtype": "float64"}, {"dtype": "int64"}, 5],
    "Device": ["cpu", "meta", 5],
    "Layout": [{"layout": "strided"}],
    "MemoryFormat": [{"memory": "contiguous_format"}, {"memory": "preserve_format"}],
    "Generator": [{"g": 7}],
    "Dimname": ["N"],
    "DimnameList": [["N"], ["N", "C"]],
    "TensorList": [[T["f"], T["g"]], [T["i"]], [], T["f"]],
    "ArrayRef<double>": [[0.5, 1.5], [1, 2]],
    "ScalarList": [[1, 2.5]],
    "str": ["mean", "x"],
}
OTHER_FORMS = [T["f"]]
PLAIN_STRINGS = {"indexing": "ij", "reduce": "sum", "padding": "valid", "rounding_mode": "floor", "approximate": "tanh",
                 "mode": "constant", "reduction": "mean", "side": "left", "UPLO": "L", "driver": None, "ord": "fro"}
# A list of fixed length has the schema's length, and a single number is accepted for it.
DIMENSIONS = {"dim", "dims", "dim0", "dim1", "start_dim", "end_dim", "axis", "source", "destination", "index"}
SWITCHES = {"requires_grad", "pin_memory", "non_blocking"}


def forms(param):
    if param.kind == "IntList":
        if param.name in DIMENSIONS:
            return [[0], 1, [0, 1], [-1], T["zi"], [1.5]]
        if param.size:
            return [[1] * param.size, 1, [1], [1.5]]
        return [[3, 3], 3, [9], [1, 3, 3], [-1]]
    if param.kind == "str":
        return [PLAIN_STRINGS.get(param.name, param.default.strip('"') or "mean"), "x", 1]
    return FORMS.get(param.kind, OTHER_FORMS)


def plain(param):
    return forms(param)[0]


def call(signature, values, by_name=(), receiver="f"):
    """`values` maps parameters to arguments; consecutive ones are positional, the rest named."""
    args, kwargs, in_order = [], {}, True
    for param in signature.params:
        if param.name not in values:
            in_order = False
        elif in_order and not param.keyword_only and param.name not in by_name:
            args.append(values[param.name])
        else:
            in_order = False
            kwargs[param.name] = values[param.name]
    result = {"space": signature.space, "name": signature.name, "args": args, "kwargs": kwargs}
    if signature.method:
        result["self"] = receiver
    return result


def cases(signature):
    usual = [param for param in signature.params if param.name not in SWITCHES | {"out"}]
    required = {param.name: plain(param) for param in usual if not param.optional}
    everything = {param.name: plain(param) for param in usual}
    positional = {param.name: plain(param) for param in usual if not param.keyword_only}
    yield call(signature, required)
    yield call(signature, positional)
    yield call(signature, everything)
    yield call(signature, required, by_name=[param.name for param in usual])
    yield call(signature, everything, by_name=[param.name for param in usual])
    yield call(signature, positional, by_name=[param.name for param in usual[1 if not signature.method else 0:]])
    if signature.method:
        for receiver in "ibzvc":
            yield call(signature, required, receiver=receiver)
    for param in usual:
        yield call(signature, {**required, param.name: plain(param)})
        for form in forms(param)[1:]:
            yield call(signature, {**required, param.name: form})
            if param.optional and not param.keyword_only:
                yield call(signature, {**positional, param.name: form})
        if param.nullable or not param.optional:
            yield call(signature, {**required, param.name: None})
    # Pairs: the type of the first argument may affect the second.
    tensors = [param for param in usual if param.kind == "Tensor" and not param.optional]
    for first in tensors[:1]:
        for form in (T["i"],):
            for second in usual:
                if second is not first:
                    for other in forms(second)[:9]:
                        yield call(signature, {**required, first.name: form, second.name: other})
    # Lists of integers, spread.
    for at, param in enumerate(usual):
        if param.kind == "IntList" and not param.size and at == len(required) - 1 and not param.keyword_only:
            spread = call(signature, required)
            if spread["args"] and isinstance(spread["args"][-1], list):
                yield {**spread, "args": [*spread["args"][:-1], *spread["args"][-1]]}
    if any(param.name == "out" and param.kind == "Tensor" for param in signature.params):
        yield call(signature, {**required, "out": T["f"]}, by_name=["out"])
    yield {**call(signature, required), "kwargs": {"no_such_option": 1}}
