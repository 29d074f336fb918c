"""
Prints PyTorch's own inputs of optimizers, as JSON: of each entry of `optim_db` the constructor calls that its tests make,
and those that it refuses. null for a PyTorch without this table. See optim-db.test.ts.
"""
import json
import sys
import types
import unittest

import torch

# Debian does not have this package, which the tables import and do not use.
stub = types.ModuleType("expecttest")
stub.TestCase = unittest.TestCase
stub.ACCEPT = False
sys.modules["expecttest"] = stub
try:
    from torch.testing._internal import common_optimizers
except ImportError:
    print("TABLE null")
    sys.exit()

tensors = []


def encoded(value):
    if isinstance(value, torch.Tensor):
        if not any(value is other for other in tensors):
            tensors.append(value)
        number = next(i for i, other in enumerate(tensors) if value is other)
        sparse = value.layout != torch.strided
        data = None if sparse or value.is_complex() else value.detach().flatten().tolist()
        of = {"number": number, "dtype": str(value.dtype)[6:], "shape": list(value.shape), "sparse": sparse, "data": data}
        return {"tensor": {**of, "leaf": isinstance(value, torch.nn.Parameter), "grad": value.grad is not None}}
    if isinstance(value, (list, tuple)):
        return [encoded(one) for one in value]
    if isinstance(value, dict):
        return {key: encoded(one) for key, one in value.items()}
    return value


def inputs_of(info):
    take = common_optimizers._get_optim_inputs_including_global_cliquey_kwargs
    given = [{"desc": one.desc, "options": encoded(one.kwargs)} for one in take("cpu", torch.float32, info)]
    refused = [
        {
            "desc": one.optimizer_error_input.desc,
            "params": encoded(one.optimizer_error_input.params),
            "options": encoded(one.optimizer_error_input.kwargs),
            "step": one.error_on == common_optimizers.OptimizerErrorEnum.STEP_ERROR,
            "warns": one.error_type is UserWarning,
        }
        for one in info.optim_error_inputs_func("cpu", torch.float32)
    ]
    return {
        "name": info.name,
        "closure": info.step_requires_closure,
        "sparse": info.only_supports_sparse_grads,
        "inputs": given,
        "refused": refused,
    }


print("TABLE " + json.dumps([inputs_of(info) for info in common_optimizers.optim_db]))
