// Properties of a tensor: shape, dtype, storage.
#include <ATen/ops/empty.h>

#include <array>
#include <cstdint>

#include "native/compat.h"
#include "native/exports/exports.h"
#include "native/ops/record.h"

namespace ltn {
namespace {

// Up to four sizes as one number, for lib/addon/shape.ts; nullopt if they do not fit. An array takes five times as
// long.
c10::optional<int64_t> packed_sizes(at::IntArrayRef sizes) {
  constexpr int kBits = 48;                                                                    // of all sizes together
  constexpr std::array<int, 5> kBitsOfEach = {kBits, kBits, kBits / 2, kBits / 3, kBits / 4};  // by the number of sizes
  if (sizes.size() >= kBitsOfEach.size()) return c10::nullopt;
  const int bits = kBitsOfEach[sizes.size()];
  auto packed = static_cast<int64_t>(sizes.size());
  packed <<= kBits - bits * static_cast<int>(sizes.size());
  for (const int64_t size : sizes) {
    if (size >> bits != 0) return c10::nullopt;
    packed = packed << bits | size;
  }
  return packed;
}

// Sizes or strides, packed or as an array.
napi_value write_sizes(Call& call, at::IntArrayRef sizes) {
  if (const auto packed = packed_sizes(sizes)) return write_int(call, *packed);
  const napi_value array = new_array(call, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) set_element(call, array, i, write_int(call, sizes[i]));
  return array;
}

const at::Tensor& up_to_date_self(Call& call) {
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  return call.tensor(call.arguments[0], 0);
}

napi_value shape(Call& call) { return write_sizes(call, up_to_date_self(call).sizes()); }
napi_value strides(Call& call) {
  const at::Tensor& self = up_to_date_self(call);
  if (self.layout() != c10::kStrided) throw CodedError("ERR_TORCH_LAYOUT", "only a strided tensor has strides");
  return write_sizes(call, self.strides());
}
int64_t numel(const at::Tensor& self) { return self.numel(); }
int64_t ndim(const at::Tensor& self) { return self.dim(); }
c10::ScalarType dtype(const at::Tensor& self) { return self.scalar_type(); }
int64_t layout(const at::Tensor& self) { return static_cast<int64_t>(self.layout()); }
std::string device(const at::Tensor& self) { return self.device().str(); }
int64_t item_size(const at::Tensor& self) { return static_cast<int64_t>(self.element_size()); }
int64_t storage_bytes(const at::Tensor& self) {
  if (!self.has_storage()) throw CodedError("ERR_TORCH_LAYOUT", "the tensor has no storage of its own");
  return static_cast<int64_t>(self.storage().nbytes());
}
int64_t storage_offset(const at::Tensor& self) { return self.has_storage() ? self.storage_offset() : 0; }
// A number that no other storage has as long as this one exists; 0 for a tensor without a storage.
int64_t storage_key(const at::Tensor& self) {
  if (!self.has_storage()) return 0;
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(self.storage().unsafeGetStorageImpl()));
}

// The storage as bytes: a uint8 tensor over all of it. So a Storage is owned, scoped and counted like a tensor.
at::Tensor storage(const at::Tensor& self) {
  if (!self.has_storage()) throw CodedError("ERR_TORCH_LAYOUT", "the tensor has no storage of its own");
  at::Tensor bytes = at::empty({0}, at::TensorOptions().dtype(c10::ScalarType::Byte).device(self.device()));
  bytes.unsafeGetTensorImpl()->set_storage_keep_dtype(self.storage());
  bytes.unsafeGetTensorImpl()->set_sizes_contiguous({static_cast<int64_t>(self.storage().nbytes())});
  return bytes;
}

// "*" is a dimension without a name.
std::vector<std::string> names(const at::Tensor& self) {
#ifdef LTN_HAS_DIMNAMES
  std::vector<std::string> list;
  for (const at::Dimname& name : self.names()) list.emplace_back(name.symbol().toUnqualString());
  return list;
#else
  return std::vector<std::string>(static_cast<size_t>(self.dim()), "*");
#endif
}

const Export kTensorExports[] = {
    exported("names", "names(Tensor self) -> str[]", &names),
    exported_body<&shape, 1>("shape", "shape(Tensor self) -> int[]"),
    exported_body<&strides, 1>("strides", "strides(Tensor self) -> int[]"),
    exported("numel", "numel(Tensor self) -> int", &numel),
    exported("ndim", "ndim(Tensor self) -> int", &ndim),
    exported("dtype", "dtype(Tensor self) -> ScalarType", &dtype),
    exported("layout", "layout(Tensor self) -> Layout", &layout),
    exported("device", "device(Tensor self) -> str", &device),
    exported("itemSize", "itemSize(Tensor self) -> int", &item_size),
    exported("storageBytes", "storageBytes(Tensor self) -> int", &storage_bytes),
    exported("storageOffset", "storageOffset(Tensor self) -> int", &storage_offset),
    exported("storageKey", "storageKey(Tensor self) -> int", &storage_key),
    exported("storage", "storage(Tensor self) -> Storage", &storage),
};

}  // namespace

ExportList tensor_exports() { return {kTensorExports, std::size(kTensorExports)}; }

}  // namespace ltn
