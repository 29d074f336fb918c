#include "native/async/sparse_members.h"

#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_set>

#include "native/handles/inner_tensors.h"

namespace ltn {
namespace {

// The ops that read no index as an offset: names without overloads.
bool is_of_members(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
      "_indices",     "_values",  "indices", "values",   "crow_indices", "col_indices",    "row_indices",
      "ccol_indices", "_nnz",     "_dimI",   "_dimV",    "sparse_dim",   "dense_dim",      "is_coalesced",
      "_coalesced_",  "detach",   "detach_", "alias",    "clone",        "requires_grad_", "sparse_resize_and_clear_",
      "zero_",        "set_data", "data",    "_version", "is_leaf",      "output_nr",      "retain_grad",
      "retains_grad"};
  return names.count(name) > 0;
}

std::string position(const char* what, int64_t number, int64_t size) {
  return std::string(what) + " " + std::to_string(number) + " of " + std::to_string(size);
}

template <class Index>
std::string fault_of_numbers(const char* what, const at::Tensor& numbers, int64_t size) {
  const at::Tensor all = numbers.contiguous();
  const Index* data = all.data_ptr<Index>();
  // The sign bit is set by a number below 0 or above the last one. Without comparisons several are computed at once.
  const int64_t last_index = std::min<int64_t>(size - 1, std::numeric_limits<Index>::max());
  const auto last = static_cast<std::make_unsigned_t<Index>>(last_index);
  std::make_unsigned_t<Index> signs = 0;
  for (int64_t i = 0; i < all.numel(); ++i) {
    const auto number = static_cast<std::make_unsigned_t<Index>>(data[i]);
    signs |= number | (last - number);
  }
  if (static_cast<Index>(signs) >= 0) return {};
  int64_t i = 0;
  while (data[i] >= 0 && data[i] < size) ++i;
  return position(what, data[i], size);
}

std::string fault_of_coo(const at::SparseTensorImpl& impl) {
  const at::Tensor indices = impl.indices();
  for (int64_t dim = 0; dim < indices.size(0); ++dim) {
    const std::string fault = fault_of_numbers<int64_t>("index", indices.select(0, dim), impl.size(dim));
    if (!fault.empty()) return fault + " in dimension " + std::to_string(dim);
  }
  return {};
}

// The offsets of the rows of a matrix (of the columns, in CSC and BSC): from 0 up to the number of elements.
template <class Index>
std::string fault_of_offsets(const at::Tensor& offsets, int64_t elements) {
  const at::Tensor all = offsets.contiguous();
  const int64_t count = all.size(-1);
  const Index* data = all.data_ptr<Index>();
  for (const Index* end = data + all.numel(); data < end; data += count) {
    if (data[0] != 0) return position("offset", data[0], elements) + " at the start";
    for (int64_t i = 1; i < count; ++i) {
      if (data[i] < data[i - 1]) return position("offset", data[i], elements) + " after a larger one";
    }
    if (data[count - 1] != elements) return position("offset", data[count - 1], elements) + " at the end";
  }
  return {};
}

// The parts of the sizes of a tensor in one of the compressed layouts: [batch…, rows, columns, dense…].
struct Parts {
  explicit Parts(const at::SparseCsrTensorImpl& impl)
      : offsets(impl.compressed_indices()), plain(impl.plain_indices()), values(impl.values()) {
    const c10::Layout layout = impl.layout();
    by_columns = layout == c10::kSparseCsc || layout == c10::kSparseBsc;
    if (layout == c10::kSparseBsr || layout == c10::kSparseBsc) blocks = 2;
  }

  const at::Tensor offsets, plain, values;
  bool by_columns = false;
  int64_t blocks = 0;  // dimensions of values for the elements of a block
};

bool has_steps_of_one(const at::Tensor& numbers) { return numbers.size(-1) < 2 || numbers.stride(-1) == 1; }

// How many rows (or columns) of blocks there are; -1 for blocks without elements.
int64_t blocks_along(const at::SparseCsrTensorImpl& impl, const Parts& parts, int64_t dim) {
  const int64_t batch = parts.plain.dim() - 1;
  const int64_t block = parts.blocks > 0 ? parts.values.size(batch + 1 + dim) : 1;
  return block > 0 ? impl.size(batch + dim) / block : -1;
}

// Whether the members have the sizes and dtypes with which the tensor was made: they can be the very tensors that the
// program gave, which it can resize.
bool fit_each_other(const at::SparseCsrTensorImpl& impl, const Parts& parts) {
  const at::Tensor &offsets = parts.offsets, &plain = parts.plain, &values = parts.values;
  const int64_t batch = plain.dim() - 1;
  if (batch < 0 || offsets.dim() != plain.dim() || impl.dim() < batch + 2) return false;
  if (values.dim() != impl.dim() - 1 + parts.blocks || values.scalar_type() != c10::typeMetaToScalarType(impl.dtype()))
    return false;
  if (offsets.scalar_type() != plain.scalar_type() ||
      (plain.scalar_type() != at::kInt && plain.scalar_type() != at::kLong))
    return false;
  for (int64_t i = 0; i < batch; ++i) {
    if (offsets.size(i) != impl.size(i) || plain.size(i) != impl.size(i) || values.size(i) != impl.size(i))
      return false;
  }
  for (int64_t i = batch + 2; i < impl.dim(); ++i) {
    if (values.size(i - 1 + parts.blocks) != impl.size(i)) return false;
  }
  return values.size(batch) == plain.size(-1) && has_steps_of_one(offsets) && has_steps_of_one(plain) &&
         offsets.size(-1) == blocks_along(impl, parts, parts.by_columns ? 1 : 0) + 1;
}

template <class Index>
std::string fault_of_compressed(const at::SparseCsrTensorImpl& impl, const Parts& parts) {
  std::string fault = fault_of_offsets<Index>(parts.offsets, parts.plain.size(-1));
  if (!fault.empty()) return fault;
  const int64_t size = blocks_along(impl, parts, parts.by_columns ? 0 : 1);
  return fault_of_numbers<Index>(parts.by_columns ? "row" : "column", parts.plain, size);
}

std::string fault_of_compressed(const at::SparseCsrTensorImpl& impl) {
  const Parts parts(impl);
  if (!fit_each_other(impl, parts)) {
    return c10::str("offsets ", parts.offsets.sizes(), ", indices ", parts.plain.sizes(), " and values ",
                    parts.values.sizes(), ", which do not fit it");
  }
  return parts.plain.scalar_type() == at::kInt ? fault_of_compressed<int32_t>(impl, parts)
                                               : fault_of_compressed<int64_t>(impl, parts);
}

}  // namespace

bool takes_any_members(const OpRow& row) {
  std::string_view name = row.name;
  name.remove_prefix(std::string_view("aten::").size());
  return is_of_members(name.substr(0, name.find('.')));
}

std::string fault_of_members(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) return {};
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  if (tensor.is_sparse()) return fault_of_coo(*static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl()));
  return fault_of_compressed(*static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl()));
}

void refuse_wrong_members(const OpRow& row, const at::Tensor& tensor) {
  if (takes_any_members(row)) return;
  const std::string fault = fault_of_members(tensor);
  TORCH_CHECK(fault.empty(), "expected a sparse tensor with indices inside ", tensor.sizes(), ", got ", fault);
}

void check_members(const OpRow& row, const std::vector<c10::IValue>& arguments) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) {
      check_members(row, argument.toTensor());
    } else if (argument.isTensorList()) {
      for (const c10::IValue& element : argument.toListRef()) check_members(row, element.toTensor());
    }
  }
}

}  // namespace ltn
