// Planted faults, one function each. `npm run test:asan` first calls each in a separate Node process and expects a
// report of each, because a suppression or a set-up that hides the addon's faults would also make a run look clean.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <node_api.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace {

// Not a constant, so that the compiler cannot see the fault.
volatile int one = 1;

napi_value leak(napi_env, napi_callback_info) {
  for (int i = 0; i < 8; ++i) {
    auto* lost = new char[100];
    std::memset(lost, one, 100);
  }
  return nullptr;
}

// A leak through libtorch, whose frames are between the allocation and ours.
napi_value leak_tensor(napi_env, napi_callback_info) {
  for (int i = 0; i < 8; ++i) at::empty({100}).unsafeReleaseTensorImpl();
  return nullptr;
}

// A reference to a JS value that is never deleted, like that of a lost guard.
napi_value leak_reference(napi_env env, napi_callback_info) {
  for (int i = 0; i < 8; ++i) {
    napi_value object = nullptr;
    napi_ref lost = nullptr;
    napi_create_object(env, &object);
    napi_create_reference(env, object, 1, &lost);
  }
  return nullptr;
}

napi_value use_after_free(napi_env, napi_callback_info) {
  volatile int* block = new int[10];
  block[0] = one;
  delete[] block;
  one = block[0];
  return nullptr;
}

// Our code reads a block that libtorch's allocator has already freed.
napi_value use_after_dispose(napi_env, napi_callback_info) {
  at::Tensor tensor = at::empty({100});
  auto* data = static_cast<volatile float*>(tensor.data_ptr());
  data[0] = 1;
  tensor.reset();
  one = static_cast<int>(data[0]);
  return nullptr;
}

napi_value past_the_end(napi_env, napi_callback_info) {
  at::Tensor tensor = at::empty({100});
  static_cast<volatile char*>(tensor.data_ptr())[tensor.nbytes() + one] = 1;
  return nullptr;
}

napi_value wrong_delete(napi_env, napi_callback_info) {
  auto* block = new int(one);
  std::free(block);
  return nullptr;
}

napi_value overflow(napi_env, napi_callback_info) {
  int value = INT_MAX;
  value += one;
  one = value;
  return nullptr;
}

}  // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor faults[] = {
      {"leak", nullptr, leak, nullptr, nullptr, nullptr, napi_default, nullptr},
      {"leak_tensor", nullptr, leak_tensor, nullptr, nullptr, nullptr, napi_default, nullptr},
      {"leak_reference", nullptr, leak_reference, nullptr, nullptr, nullptr, napi_default, nullptr},
      {"use_after_free", nullptr, use_after_free, nullptr, nullptr, nullptr, napi_default, nullptr},
      {"use_after_dispose", nullptr, use_after_dispose, nullptr, nullptr, nullptr, napi_default, nullptr},
      {"past_the_end", nullptr, past_the_end, nullptr, nullptr, nullptr, napi_default, nullptr},
      {"wrong_delete", nullptr, wrong_delete, nullptr, nullptr, nullptr, napi_default, nullptr},
      {"overflow", nullptr, overflow, nullptr, nullptr, nullptr, napi_default, nullptr},
  };
  napi_define_properties(env, exports, sizeof(faults) / sizeof(*faults), faults);
  return exports;
}
