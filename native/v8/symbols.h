// Functions of V8 that Node-API does not offer, found by the names of their symbols: no V8 header ties the addon to one
// release of Node.
#pragma once

#include <dlfcn.h>

namespace ltn {

// Sets the pointer to the process's function of that (mangled) name; null where there is none, as in other runtimes and
// other releases of V8. A Node-API value is a v8::Local, a pointer to a slot, and that pointer is `this` of its member
// functions.
template <class Function>
void find_in_v8(Function* function, const char* name) noexcept {
  *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

using CurrentIsolate = void* (*)();

// v8::Isolate::GetCurrent.
inline void find_in_v8(CurrentIsolate* function) noexcept { find_in_v8(function, "_ZN2v87Isolate10GetCurrentEv"); }

}  // namespace ltn
