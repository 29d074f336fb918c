// The memory behind a buffer of JavaScript's, which Node-API has no way to hold from another thread.
#pragma once

#include <node_api.h>

#include <memory>

namespace ltn::share {

// A reference to the memory of a SharedArrayBuffer, which V8 shares between threads and messages; null for any other
// value. Null always where V8 cannot be asked, see knows_backing_stores(). The environment's JS thread only.
std::shared_ptr<const void> backing_store_of(napi_value value) noexcept;

// The same for an ArrayBuffer or a SharedArrayBuffer. `shrinks`: JavaScript may take pages away from it (`resize`).
struct HeldStore {
  std::shared_ptr<const void> store;
  bool shrinks = false;
};
HeldStore hold_backing_store(napi_value buffer) noexcept;

// Whether the buffer is an ArrayBuffer that V8 lets go when it is told to; that of a WebAssembly memory is not. True
// where V8 cannot be asked.
bool is_detachable(napi_value buffer) noexcept;

// Whether this runtime lets us ask: Node does; a runtime without V8, or with another C++ library in it, does not.
bool knows_backing_stores() noexcept;

}  // namespace ltn::share
