#include "native/share/backing_store.h"

#include <dlfcn.h>

namespace v8 {
class BackingStore;  // never seen whole: V8's own deleter frees it
}

namespace ltn::share {
namespace {

// V8's functions by name, so that no V8 header ties the addon to one version. A Node-API value is a v8::Local, a
// pointer to a slot, and that pointer is `this` of its member functions.
struct V8 {
  using IsSharedArrayBuffer = bool (*)(const void* value);
  using GetBackingStore = std::shared_ptr<v8::BackingStore> (*)(const void* shared_array_buffer);

  IsSharedArrayBuffer is_shared_array_buffer = nullptr;
  GetBackingStore get_backing_store = nullptr;

  V8() noexcept {
    // SharedArrayBuffer::New(Isolate*, std::shared_ptr<BackingStore>): its name says whose shared_ptr V8 was built
    // with. Without it the two above may be there, but with one of another C++ library, as in Electron.
    if (dlsym(RTLD_DEFAULT, "_ZN2v817SharedArrayBuffer3NewEPNS_7IsolateESt10shared_ptrINS_12BackingStoreEE") ==
        nullptr) {
      return;
    }
    is_shared_array_buffer =
        reinterpret_cast<IsSharedArrayBuffer>(dlsym(RTLD_DEFAULT, "_ZNK2v85Value19IsSharedArrayBufferEv"));
    get_backing_store =
        reinterpret_cast<GetBackingStore>(dlsym(RTLD_DEFAULT, "_ZN2v817SharedArrayBuffer15GetBackingStoreEv"));
  }

  bool complete() const noexcept { return is_shared_array_buffer != nullptr && get_backing_store != nullptr; }
};

const V8& process_v8() noexcept {
  static const V8 v8;
  return v8;
}

}  // namespace

bool knows_backing_stores() noexcept { return process_v8().complete(); }

std::shared_ptr<const void> backing_store_of(napi_value value) noexcept {
  const V8& v8 = process_v8();
  if (!v8.complete() || !v8.is_shared_array_buffer(value)) return nullptr;
  return v8.get_backing_store(value);
}

}  // namespace ltn::share
