#include "native/audit/pin.h"

#include <dlfcn.h>

namespace ltn::audit {
namespace {

// An address in this library.
void inside() {}

}  // namespace

void pin_library() noexcept {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&inside), &info) != 0 && info.dli_fname != nullptr) {
    static_cast<void>(::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
  }
}

}  // namespace ltn::audit
