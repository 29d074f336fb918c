// The memory behind a SharedArrayBuffer, which Node-API has no way to hold from another thread.
#pragma once

#include <node_api.h>

#include <memory>

namespace ltn::share {

// A reference to the memory of a SharedArrayBuffer, which V8 shares between threads and messages; null for any other
// value. Null always where V8 cannot be asked, see knows_backing_stores(). The environment's JS thread only.
std::shared_ptr<const void> backing_store_of(napi_value value) noexcept;

// Whether this runtime lets us ask: Node does; a runtime without V8, or with another C++ library in it, does not.
bool knows_backing_stores() noexcept;

}  // namespace ltn::share
