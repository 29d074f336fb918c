// The tensors inside a TorchScript value.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <unordered_set>
#include <utility>
#include <vector>

namespace ltn::models {

// Calls visit(tensor) for every reachable tensor, once per path to it.
template <class Visit>
void for_each_tensor(const c10::IValue& root, Visit&& visit) {
  std::vector<c10::IValue> pending = {root};
  std::unordered_set<const void*> seen;
  while (!pending.empty()) {
    const c10::IValue value = std::move(pending.back());
    pending.pop_back();
    if (value.isTensor()) {
      if (value.toTensor().defined()) visit(value.toTensor());
      continue;
    }
    const bool is_container = value.isList() || value.isTuple() || value.isGenericDict() || value.isObject();
    if (!is_container || !seen.insert(value.internalToPointer()).second) continue;
    if (value.isList()) {
      for (const c10::IValue& element : value.toListRef()) pending.push_back(element);
    } else if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) pending.push_back(element);
    } else if (value.isObject()) {
      for (const c10::IValue& slot : value.toObjectRef().slots()) pending.push_back(slot);
    } else {
      for (const auto& entry : value.toGenericDict()) {
        pending.push_back(entry.key());
        pending.push_back(entry.value());
      }
    }
  }
}

}  // namespace ltn::models
