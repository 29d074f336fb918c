// Tensor data from and to JS typed arrays.
#include <ATen/ops/empty.h>
#include <ATen/ops/resolve_conj.h>
#include <ATen/ops/resolve_neg.h>
#include <c10/core/StorageImpl.h>

#include <cstring>

#include "native/accounting/storage_ledger.h"
#include "native/convert/integers.h"
#include "native/errors/describe_tensor.h"
#include "native/exports/borrowed_buffer.h"
#include "native/exports/exports.h"
#include "native/schema/dtypes.h"
#include "native/share/backing_store.h"

namespace ltn {
namespace {

struct View {
  void* data = nullptr;
  size_t bytes = 0;
};

Napi::Uint8Array array_argument(Call& call, size_t index) {
  const Napi::Value value = argument(call, index);
  if (!value.IsTypedArray()) throw BadArgument(index, "a typed array", describe_value(call.env, value));
  return value.As<Napi::Uint8Array>();  // of any element type: only its bytes are used
}

View typed_array(Call& call, size_t index) {
  const Napi::Uint8Array array = array_argument(call, index);
  return {const_cast<uint8_t*>(array.Data()), array.ByteLength()};
}

// numel × item size of `shape`. Throws BadArgument.
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

// The result on the requested device.
napi_value write_on_device(Call& call, at::Tensor tensor) {
  const auto device = FromJs<c10::optional<c10::Device>>(call, 3).get();
  if (device.has_value() && !device->is_cpu()) tensor = tensor.to(*device);
  return write_result(call, std::move(tensor));
}

napi_value from_copy(Call& call) {
  const Request request = read_request(call);
  at::Tensor tensor = at::empty(request.shape, at::TensorOptions().dtype(request.dtype));
  if (request.view.bytes != 0) std::memcpy(tensor.data_ptr(), request.view.data, request.view.bytes);
  return write_on_device(call, std::move(tensor));
}

// fromNumbers(array, shape, dtype, device, wanted, floats): elements of `wanted`, an integer dtype. Null if one of the
// numbers does not fit.
napi_value from_numbers(Call& call) {
  const auto wanted = Element<c10::ScalarType>::read(call, call.arguments[4], 4);
  const auto numbers = read_bool(call, call.arguments[5], 5) ? Numbers::kFloats : Numbers::kAsTheyAre;
  const Request request = read_request(call);
  if (!makes_integers(request.dtype, wanted)) {
    throw BadArgument(4, "a dtype of integers, for an array of numbers", dtype_name(wanted));
  }
  at::Tensor tensor = at::empty(request.shape, at::TensorOptions().dtype(wanted));
  const auto count = static_cast<size_t>(tensor.numel());
  if (!write_integers(request.dtype, request.view.data, count, numbers, wanted, tensor.data_ptr())) {
    return write_result(call, at::Tensor());
  }
  return write_on_device(call, std::move(tensor));
}

napi_value is_detachable(Call& call) { return write_bool(call, share::is_detachable(call.arguments[0])); }

napi_value from_borrowed(Call& call) {
  const Request request = read_request(call);
  const Napi::Uint8Array array = array_argument(call, 0);
  const napi_value buffer = array.ArrayBuffer();
  const size_t offset = array.ByteOffset();
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

// Writes the elements in row-major order into an ArrayBuffer that may be larger. JavaScript allocates it: there a
// failed allocation is an exception, in Node-API it ends the process.
napi_value copy_into(Call& call) {
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  const at::Tensor& self = call.tensor(call.arguments[0], 0);
  const Napi::Value target = argument(call, 1);
  if (!target.IsArrayBuffer()) throw BadArgument(1, "an ArrayBuffer", describe_value(call.env, target));
  auto buffer = target.As<Napi::ArrayBuffer>();
  const size_t size = buffer.ByteLength();
  const bool is_plain = self.layout() == c10::kStrided && self.is_cpu() && self.is_contiguous() && !self.is_conj() &&
                        !self.is_neg() && !self._is_zerotensor();
  at::Tensor dense = is_plain ? self : self.detach();
  if (dense.layout() != c10::kStrided) {
    throw CodedError("ERR_TORCH_LAYOUT", "a sparse tensor has no dense elements; use toDense() first");
  }
  if (dense.is_meta()) throw CodedError("ERR_TORCH_DEVICE", "a tensor on the meta device has no elements");
  if (!dense.is_cpu()) dense = dense.to(c10::Device(c10::DeviceType::CPU));
  // Autograd's efficient zero tensors have no memory before a copy.
  if (dense._is_zerotensor()) dense = dense.clone();
  if (!is_plain) dense = at::resolve_neg(at::resolve_conj(dense)).contiguous();
  const size_t bytes = static_cast<size_t>(dense.numel()) * dense.element_size();
  if (bytes > size)
    throw BadArgument(1, "an ArrayBuffer of at least " + std::to_string(bytes) + " bytes", std::to_string(size));
  if (bytes != 0) std::memcpy(buffer.Data(), dense.data_ptr(), bytes);
  return nullptr;
}

const Export kDataExports[] = {
    exported_body<&from_copy, 4>("fromCopy",
                                 "fromCopy(TypedArray data, int[] shape, ScalarType dtype, Device? device) -> Tensor"),
    exported_body<&from_numbers, 6>("fromNumbers",
                                    "fromNumbers(TypedArray data, int[] shape, ScalarType dtype, Device? device, "
                                    "ScalarType wanted, bool floats) -> Tensor?"),
    exported_body<&from_borrowed, 3>("fromBorrowed",
                                     "fromBorrowed(TypedArray data, int[] shape, ScalarType dtype) -> Tensor"),
    exported_body<&is_detachable, 1>("isDetachable", "isDetachable(ArrayBuffer buffer) -> bool"),
    exported_body<&copy_into, 2>("copyInto", "copyInto(Tensor self, ArrayBuffer buffer) -> ()"),
};

}  // namespace

ExportList data_exports() {
  accounting::set_borrowed_deleter(&BorrowedBuffer::destroy);
  return {kDataExports, std::size(kDataExports)};
}

}  // namespace ltn
