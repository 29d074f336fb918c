// Tensor data from and to JS typed arrays.
#include <ATen/ops/empty.h>
#include <ATen/ops/resolve_conj.h>
#include <ATen/ops/resolve_neg.h>
#include <c10/core/StorageImpl.h>

#include <cstring>

#include "native/accounting/storage_ledger.h"
#include "native/convert/dtypes.h"
#include "native/internals/borrowed_buffer.h"
#include "native/internals/internals.h"
#include "native/share/backing_store.h"

namespace ltn {
namespace {

struct View {
  void* data = nullptr;
  size_t bytes = 0;
};

size_t element_bytes(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array:
    case napi_uint8_array:
    case napi_uint8_clamped_array:
      return 1;
    case napi_int16_array:
    case napi_uint16_array:
      return 2;
    case napi_int32_array:
    case napi_uint32_array:
    case napi_float32_array:
      return 4;
    default:
      return 8;
  }
}

View typed_array(Call& call, size_t index) {
  bool is_typed = false;
  check(call.env, napi_is_typedarray(call.env, call.arguments[index], &is_typed));
  if (!is_typed) throw BadArgument(index, "a typed array", describe_value(call.env, call.arguments[index]));
  napi_typedarray_type type = napi_int8_array;
  size_t length = 0;
  View view;
  check(call.env,
        napi_get_typedarray_info(call.env, call.arguments[index], &type, &length, &view.data, nullptr, nullptr));
  view.bytes = length * element_bytes(type);
  return view;
}

// numel × item size of `shape`, or a BadArgument.
size_t bytes_of_shape(const c10::SmallVector<int64_t, 8>& shape, c10::ScalarType dtype, size_t index) {
  uint64_t bytes = c10::elementSize(dtype);
  for (const int64_t size : shape) {
    if (size < 0) throw BadArgument(index, "sizes of 0 or more", std::to_string(size));
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) || bytes > INT64_MAX) {
      throw BadArgument(index, "a shape whose bytes fit 63 bits", "a larger one");
    }
  }
  return bytes;
}

struct Request {
  View view;
  c10::SmallVector<int64_t, 8> shape;
  c10::ScalarType dtype;
};

Request read_request(Call& call) {
  Request request;
  request.shape = read_list<int64_t>(call, call.arguments[1], 1);
  request.dtype = Element<c10::ScalarType>::read(call, call.arguments[2], 2);
  // Last: a getter among the elements of the shape could detach the buffer.
  request.view = typed_array(call, 0);
  const size_t bytes = bytes_of_shape(request.shape, request.dtype, 1);
  if (bytes != request.view.bytes) {
    throw BadArgument(
        1, "a shape of " + std::to_string(request.view.bytes / c10::elementSize(request.dtype)) + " elements",
        "one of " + std::to_string(bytes / c10::elementSize(request.dtype)));
  }
  return request;
}

napi_value from_copy(Call& call) {
  const Request request = read_request(call);
  at::Tensor tensor = at::empty(request.shape, at::TensorOptions().dtype(request.dtype));
  if (request.view.bytes != 0) std::memcpy(tensor.data_ptr(), request.view.data, request.view.bytes);
  const auto device = FromJs<c10::optional<c10::Device>>(call, 3).get();
  if (device.has_value() && !device->is_cpu()) {
    tensor = tensor.to(*device);
  }
  return write_result(call, std::move(tensor));
}

// newBytes(length): memory that fillBytes fills. Not an op: what a loader reads is there at once, also inside
// torch.run.
napi_value new_bytes(Call& call) {
  const int64_t length = read_int(call, call.arguments[0], 0);
  if (length < 0) throw BadArgument(0, "a length of 0 or more", std::to_string(length));
  return write_result(call, at::empty({length}, at::TensorOptions().dtype(c10::ScalarType::Byte)));
}

// fillBytes(self, from, bytes): copies them to where they belong in `self`.
napi_value fill_bytes(Call& call) {
  const int64_t from = read_int(call, call.arguments[1], 1);
  const at::Tensor& self = call.tensor(call.arguments[0], 0);
  if (self.scalar_type() != c10::ScalarType::Byte || !self.is_cpu() || !self.is_contiguous()) {
    throw BadArgument(0, "contiguous bytes", describe_tensor(&self));
  }
  const View view = typed_array(call, 2);
  if (from < 0 || from > self.numel() || view.bytes > static_cast<uint64_t>(self.numel() - from)) {
    throw BadArgument(2, "bytes that lie inside a tensor of " + std::to_string(self.numel()),
                      std::to_string(view.bytes) + " from " + std::to_string(from));
  }
  if (view.bytes != 0) std::memcpy(static_cast<char*>(self.data_ptr()) + from, view.data, view.bytes);
  return nullptr;
}

napi_value is_detachable(Call& call) { return write_bool(call, share::is_detachable(call.arguments[0])); }

napi_value from_borrowed(Call& call) {
  const Request request = read_request(call);
  napi_value buffer = nullptr;
  size_t offset = 0;
  check(call.env, napi_get_typedarray_info(call.env, call.arguments[0], nullptr, nullptr, nullptr, &buffer, &offset));
  const share::HeldStore held = share::hold_backing_store(buffer);
  if (held.shrinks) throw BadArgument(0, "an array whose buffer cannot be resized", "a resizable buffer");
  const void* begin = request.view.data == nullptr ? nullptr : static_cast<const char*>(request.view.data) - offset;
  auto borrowed = std::make_unique<BorrowedBuffer>(call.state.releases(), share::BufferMemory::hold(held.store, begin));
  borrowed->refer_to(call.env, buffer);
  call.state.note_borrowed();
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), request.view.bytes,
                                                       BorrowedBuffer::data_ptr(std::move(borrowed), request.view.data),
                                                       /*allocator=*/nullptr, /*resizable=*/false);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(request.dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(request.shape);
  return write_result(call, std::move(tensor));
}

// Writes the elements in row-major order into an ArrayBuffer of exactly their size. JavaScript makes it: there a failed
// allocation is an exception, in Node-API it ends the process.
napi_value copy_into(Call& call) {
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  const at::Tensor& self = call.tensor(call.arguments[0], 0);
  void* data = nullptr;
  size_t size = 0;
  check(call.env, napi_get_arraybuffer_info(call.env, call.arguments[1], &data, &size));
  at::Tensor dense = self.detach();
  if (dense.layout() != c10::kStrided) {
    throw CodedError("ERR_TORCH_LAYOUT", "a sparse tensor has no dense elements; use toDense() first");
  }
  if (dense.is_meta()) throw CodedError("ERR_TORCH_DEVICE", "a tensor on the meta device has no elements");
  if (!dense.is_cpu()) dense = dense.to(c10::Device(c10::DeviceType::CPU));
  // Autograd's efficient zero tensors have no memory before they are copied.
  if (dense._is_zerotensor()) dense = dense.clone();
  dense = at::resolve_neg(at::resolve_conj(dense)).contiguous();
  const size_t bytes = static_cast<size_t>(dense.numel()) * dense.element_size();
  if (bytes != size)
    throw BadArgument(1, "an ArrayBuffer of " + std::to_string(bytes) + " bytes", std::to_string(size));
  if (bytes != 0) std::memcpy(data, dense.data_ptr(), bytes);
  return nullptr;
}

const Internal kInternals[] = {
    internal_body<&from_copy, 4>("fromCopy",
                                 "fromCopy(TypedArray data, int[] shape, ScalarType dtype, Device? device) -> Tensor"),
    internal_body<&from_borrowed, 3>("fromBorrowed",
                                     "fromBorrowed(TypedArray data, int[] shape, ScalarType dtype) -> Tensor"),
    internal_body<&new_bytes, 1>("newBytes", "newBytes(int length) -> Tensor"),
    internal_body<&fill_bytes, 3>("fillBytes", "fillBytes(Tensor self, int from, TypedArray bytes) -> ()"),
    internal_body<&is_detachable, 1>("isDetachable", "isDetachable(ArrayBuffer buffer) -> bool"),
    internal_body<&copy_into, 2>("copyInto", "copyInto(Tensor self, ArrayBuffer buffer) -> ()"),
};

}  // namespace

InternalList data_internals() {
  accounting::set_borrowed_deleter(&BorrowedBuffer::destroy);
  return {kInternals, std::size(kInternals)};
}

}  // namespace ltn
