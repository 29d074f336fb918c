// Conditions on how many tensors an op gives (codegen/spec/guards/splitting.yaml).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "native/ops/conditions.h"

namespace ltn {

// The tensors that one call may give. Each takes almost a kilobyte, with its handle and its JavaScript object.
constexpr int64_t kMaxResults = int64_t{1} << 20;

// How large the dimension is. The op itself refuses one that the tensor lacks.
inline int64_t size_along(const at::Tensor& self, int64_t dim) {
  return self.dim() > 0 && has_dim(self, dim) && !self.is_nested() ? self.size(dim) : 0;
}

inline bool are_few_along(const at::Tensor& self, int64_t dim) { return size_along(self, dim) <= kMaxResults; }

template <class Number>
bool are_few_parts(const at::Tensor& self, const Number& part_size, int64_t dim) {
  const int64_t size = number_of(part_size);
  return size <= 0 || (size_along(self, dim) - 1) / size < kMaxResults;
}

// Chunks that a dimension has elements for, or, if it has none, as many as the caller asks for.
template <class Number>
bool are_few_chunks(const at::Tensor& self, const Number& chunks, int64_t dim) {
  const int64_t count = number_of(chunks);
  const int64_t size = size_along(self, dim);
  return (size == 0 ? count : std::min(count, size)) <= kMaxResults;
}

// A number of sections, or indices between them.
inline bool are_few_sections(const at::Tensor& sections) {
  return sections.numel() < kMaxResults &&
         (sections.dim() > 0 || all_between(sections, std::numeric_limits<int64_t>::min(), kMaxResults));
}

}  // namespace ltn
