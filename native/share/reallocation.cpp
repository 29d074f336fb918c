#include "native/share/reallocation.h"

#if !defined(__linux__)
// Mach-O does not say how large a table of functions is, so V8's cannot be copied. There, in Node 20 to 23,
// transferring a buffer to another size while a tensor uses it must be avoided.
namespace ltn::share {
bool pin_in_place(const void*) { return false; }
void unpin(const void*) noexcept {}
}  // namespace ltn::share
#else
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "native/v8/symbols.h"

namespace ltn::share {
namespace {

// A V8 allocator is identified by its first word, the address of its virtual functions.
struct Allocator {
  void** functions;
};

using Allocate = void* (*)(Allocator*, size_t length);
using Free = void (*)(Allocator*, void* data, size_t length);
using Reallocate = void* (*)(Allocator*, void* data, size_t old_length, size_t new_length);

// V8's symbols below have the length's type in their names.
static_assert(std::is_same_v<size_t, unsigned long>);

// Indices in v8::ArrayBuffer::Allocator of these Nodes: after the destructors Allocate, AllocateUninitialized, Free,
// Reallocate.
constexpr size_t kAllocate = 2, kFree = 4, kReallocate = 5;

struct AllocatorFunctions {
  CurrentIsolate current_isolate = nullptr;
  Allocator* (*allocator_of)(void* isolate) = nullptr;
  Reallocate reallocate = nullptr;  // null in later Nodes

  AllocatorFunctions() noexcept {
    find_in_v8(&current_isolate);
    find_in_v8(&allocator_of, "_ZN2v87Isolate23GetArrayBufferAllocatorEv");
    find_in_v8(&reallocate, "_ZN2v811ArrayBuffer9Allocator10ReallocateEPvmm");
  }
  bool can_reallocate() const noexcept {
    return reallocate != nullptr && current_isolate != nullptr && allocator_of != nullptr;
  }
};

const AllocatorFunctions& allocator_functions() noexcept {
  static const AllocatorFunctions functions;
  return functions;
}

// Memory used by tensors. After V8 released it, it belongs to `released_by`.
struct Pinned {
  uint64_t users = 0;
  Allocator* released_by = nullptr;
  size_t bytes = 0;
};

// The function table of one class of allocators, with the replacement in it.
struct Functions {
  void** original;
  std::unique_ptr<void*[]> patched;  // in V8's layout, type information first
  void** first;                      // the entry that an allocator points to
};

// Lifetime: one per process, never destroyed. Thread: any. The lock is held while V8's allocator is called, which calls
// no one else.
struct PinRegistry {
  std::mutex mutex;
  std::unordered_map<const void*, Pinned> pinned;
  std::vector<Functions> functions;
};

PinRegistry& process_registry() {
  static PinRegistry* const registry = new PinRegistry;
  return *registry;
}

// Replaces v8::ArrayBuffer::Allocator::Reallocate, on the JS thread of any environment.
void* reallocate(Allocator* allocator, void* data, size_t old_length, size_t new_length) noexcept {
  PinRegistry& registry = process_registry();
  {
    const std::lock_guard<std::mutex> lock(registry.mutex);
    const auto found = registry.pinned.find(data);
    if (found != registry.pinned.end()) {
      void* fresh = reinterpret_cast<Allocate>(allocator->functions[kAllocate])(allocator, new_length);  // zeros
      if (fresh == nullptr) return nullptr;
      std::memcpy(fresh, data, std::min(old_length, new_length));
      found->second.released_by = allocator;
      found->second.bytes = old_length;
      return fresh;
    }
  }
  return allocator_functions().reallocate(allocator, data, old_length, new_length);
}

// Null if this is not an allocator that reallocates like V8's own.
void** patched_functions(PinRegistry& registry, void** original) {
  for (const Functions& known : registry.functions) {
    if (known.original == original || known.first == original) return known.first;
  }
  Dl_info info{};
  void* entry = nullptr;
  if (dladdr1(original, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr || info.dli_saddr == nullptr) {
    return nullptr;
  }
  auto** const table = static_cast<void**>(info.dli_saddr);
  const size_t words = static_cast<const ElfW(Sym)*>(entry)->st_size / sizeof(void*);
  const auto before = static_cast<size_t>(original - table);
  if (before + kReallocate >= words ||
      original[kReallocate] != reinterpret_cast<void*>(allocator_functions().reallocate)) {
    return nullptr;
  }
  Functions made{original, std::make_unique<void*[]>(words), nullptr};
  std::copy(table, table + words, made.patched.get());
  made.first = made.patched.get() + before;
  made.first[kReallocate] = reinterpret_cast<void*>(&reallocate);
  return registry.functions.emplace_back(std::move(made)).first;
}

}  // namespace

bool pin_in_place(const void* begin) {
  const AllocatorFunctions& v8 = allocator_functions();
  if (!v8.can_reallocate()) return false;
  PinRegistry& registry = process_registry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  Allocator* const allocator = v8.allocator_of(v8.current_isolate());
  void** const functions = patched_functions(registry, allocator->functions);
  if (functions == nullptr) return false;
  // Other threads may use the table at the same time.
  if (allocator->functions != functions) __atomic_store_n(&allocator->functions, functions, __ATOMIC_RELEASE);
  ++registry.pinned[begin].users;
  return true;
}

void unpin(const void* begin) noexcept {
  PinRegistry& registry = process_registry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.pinned.find(begin);
  if (--found->second.users > 0) return;
  const Pinned pinned = found->second;
  registry.pinned.erase(found);
  if (pinned.released_by == nullptr) return;
  reinterpret_cast<Free>(pinned.released_by->functions[kFree])(pinned.released_by, const_cast<void*>(begin),
                                                               pinned.bytes);
}

}  // namespace ltn::share
#endif
