#include "native/share/backing_store.h"

#include "native/v8/symbols.h"

namespace v8 {
class BackingStore;  // incomplete type: V8's own deleter frees it
}

namespace ltn::share {
namespace {

struct BufferFunctions {
  using Is = bool (*)(const void* self);
  using GetBackingStore = std::shared_ptr<v8::BackingStore> (*)(const void* buffer);

  Is is_shared_array_buffer = nullptr;
  GetBackingStore get_backing_store = nullptr;
  // The same for ArrayBuffers and backing stores.
  Is is_array_buffer = nullptr;
  GetBackingStore get_array_buffers = nullptr;
  Is is_detachable = nullptr;
  Is is_resizable = nullptr;

  BufferFunctions() noexcept {
    // SharedArrayBuffer::New(Isolate*, std::shared_ptr<BackingStore>): its symbol shows which shared_ptr V8 was built
    // with. Without it the two above may exist, but with that of another C++ library, as in Electron.
    const void* knows_shared_ptr = nullptr;
    find_in_v8(&knows_shared_ptr, "_ZN2v817SharedArrayBuffer3NewEPNS_7IsolateESt10shared_ptrINS_12BackingStoreEE");
    if (knows_shared_ptr == nullptr) return;
    find_in_v8(&is_shared_array_buffer, "_ZNK2v85Value19IsSharedArrayBufferEv");
    find_in_v8(&get_backing_store, "_ZN2v817SharedArrayBuffer15GetBackingStoreEv");
    find_in_v8(&is_array_buffer, "_ZNK2v85Value13IsArrayBufferEv");
    find_in_v8(&get_array_buffers, "_ZN2v811ArrayBuffer15GetBackingStoreEv");
    find_in_v8(&is_detachable, "_ZNK2v811ArrayBuffer12IsDetachableEv");
    find_in_v8(&is_resizable, "_ZNK2v812BackingStore27IsResizableByUserJavaScriptEv");
  }

  bool complete() const noexcept { return is_shared_array_buffer != nullptr && get_backing_store != nullptr; }
};

const BufferFunctions& buffer_functions() noexcept {
  static const BufferFunctions functions;
  return functions;
}

}  // namespace

bool knows_backing_stores() noexcept { return buffer_functions().complete(); }

std::shared_ptr<const void> backing_store_of(napi_value value) noexcept {
  const BufferFunctions& v8 = buffer_functions();
  if (!v8.complete() || !v8.is_shared_array_buffer(value)) return nullptr;
  return v8.get_backing_store(value);
}

bool is_detachable(napi_value buffer) noexcept {
  const BufferFunctions& v8 = buffer_functions();
  if (v8.is_array_buffer == nullptr || v8.is_detachable == nullptr) return true;
  return v8.is_array_buffer(buffer) && v8.is_detachable(buffer);
}

HeldStore hold_backing_store(napi_value buffer) noexcept {
  const BufferFunctions& v8 = buffer_functions();
  if (v8.is_array_buffer == nullptr || v8.get_array_buffers == nullptr || v8.is_resizable == nullptr ||
      !v8.is_array_buffer(buffer)) {
    return {backing_store_of(buffer), false};  // a shared one can only grow
  }
  const std::shared_ptr<v8::BackingStore> store = v8.get_array_buffers(buffer);
  return {store, store != nullptr && v8.is_resizable(store.get())};
}

}  // namespace ltn::share
