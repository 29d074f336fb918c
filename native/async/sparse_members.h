// The indices and values inside a sparse tensor, which a program can change after libtorch has checked them: they are
// those that indices() and crowIndices() give, and those that a tensor was made from.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "native/schema/op_table.h"

namespace ltn {

// is_sparse_csr() is that of one of the compressed layouts.
inline bool has_members(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  const c10::Layout layout = tensor.layout();
  return layout == c10::kSparse || layout == c10::kSparseCsr || layout == c10::kSparseCsc ||
         layout == c10::kSparseBsr || layout == c10::kSparseBsc;
}

// Whether the op may get a tensor with wrong members: it gives or prints these, so that a program can correct them.
bool takes_any_members(const OpRow& row);

// What is wrong with the members of a tensor that has some, "column 9 of 2"; empty if a kernel can use them as offsets.
// The tensor is on the CPU, or not examined.
std::string fault_of_members(const at::Tensor& tensor);

// Throws c10::Error for a tensor that has members with something wrong, unless the op takes any.
void refuse_wrong_members(const OpRow& row, const at::Tensor& tensor);

// Before a call through the dispatcher, which takes strided tensors almost always.
inline void check_members(const OpRow& row, const at::Tensor& tensor) {
  if (has_members(tensor)) refuse_wrong_members(row, tensor);
}
void check_members(const OpRow& row, const std::vector<c10::IValue>& arguments);

}  // namespace ltn
