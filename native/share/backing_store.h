// The memory of a JavaScript buffer, which Node-API cannot hold from another thread.
#pragma once

#include <node_api.h>

#include <memory>

namespace ltn::share {

// A reference to the memory of a SharedArrayBuffer, which V8 shares between threads and messages; null for any other
// value, and if knows_backing_stores() is false. The environment's JS thread only.
std::shared_ptr<const void> backing_store_of(napi_value value) noexcept;

// The same for an ArrayBuffer or a SharedArrayBuffer. `shrinks`: JavaScript may shrink it (`resize`).
struct HeldStore {
  std::shared_ptr<const void> store;
  bool shrinks = false;
};
HeldStore hold_backing_store(napi_value buffer) noexcept;

// Whether V8 can detach the ArrayBuffer; not for the memory of a WebAssembly instance. True if V8 cannot be asked.
bool is_detachable(napi_value buffer) noexcept;

// Whether this runtime supports these functions: Node does; a runtime without V8, or with another C++ library, does
// not.
bool knows_backing_stores() noexcept;

}  // namespace ltn::share
