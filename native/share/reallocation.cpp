#include "native/share/reallocation.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace ltn::share {
namespace {

// An allocator of V8's is known by its first word alone, the address of its virtual functions.
struct Allocator {
  void** functions;
};

using Allocate = void* (*)(Allocator*, size_t length);
using Free = void (*)(Allocator*, void* data, size_t length);
using Reallocate = void* (*)(Allocator*, void* data, size_t old_length, size_t new_length);

// Of v8::ArrayBuffer::Allocator in these Nodes: after the destructors Allocate, AllocateUninitialized, Free,
// Reallocate.
constexpr size_t kAllocate = 2, kFree = 4, kReallocate = 5;

struct V8 {
  void* (*current_isolate)() = nullptr;
  Allocator* (*allocator_of)(void* isolate) = nullptr;
  Reallocate reallocate = nullptr;  // null in later Nodes

  V8() noexcept {
    find(&current_isolate, "_ZN2v87Isolate10GetCurrentEv");
    find(&allocator_of, "_ZN2v87Isolate23GetArrayBufferAllocatorEv");
    find(&reallocate, "_ZN2v811ArrayBuffer9Allocator10ReallocateEPvmm");
  }
  bool can_reallocate() const noexcept {
    return reallocate != nullptr && current_isolate != nullptr && allocator_of != nullptr;
  }

 private:
  template <class Function>
  static void find(Function* function, const char* name) noexcept {
    *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

const V8& process_v8() noexcept {
  static const V8 v8;
  return v8;
}

// Memory that a tensor uses. Once V8 has given it up, that of `given_up_by`.
struct Kept {
  uint64_t users = 0;
  Allocator* given_up_by = nullptr;
  size_t bytes = 0;
};

// The functions of one class of allocators, with ours among them.
struct Functions {
  void** original;
  std::unique_ptr<void*[]> with_ours;  // as V8 laid them out, type information first
  void** first;                        // of them, as an allocator points to
};

// Lifetime: one for the process, never destroyed. Thread: any. The lock is held while V8's allocator is called, which
// calls nobody else.
struct Room {
  std::mutex mutex;
  std::unordered_map<const void*, Kept> kept;
  std::vector<Functions> functions;
};

Room& process_room() {
  static Room* const room = new Room;
  return *room;
}

// In place of v8::ArrayBuffer::Allocator::Reallocate, on the JS thread of any environment.
void* reallocate(Allocator* allocator, void* data, size_t old_length, size_t new_length) noexcept {
  Room& room = process_room();
  {
    const std::lock_guard<std::mutex> lock(room.mutex);
    const auto found = room.kept.find(data);
    if (found != room.kept.end()) {
      void* fresh = reinterpret_cast<Allocate>(allocator->functions[kAllocate])(allocator, new_length);  // zeros
      if (fresh == nullptr) return nullptr;
      std::memcpy(fresh, data, std::min(old_length, new_length));
      found->second.given_up_by = allocator;
      found->second.bytes = old_length;
      return fresh;
    }
  }
  return process_v8().reallocate(allocator, data, old_length, new_length);
}

// Null when this is not an allocator that reallocates as V8's own does.
void** functions_with_ours(Room& room, void** original) {
  for (const Functions& known : room.functions) {
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
  if (before + kReallocate >= words || original[kReallocate] != reinterpret_cast<void*>(process_v8().reallocate)) {
    return nullptr;
  }
  Functions made{original, std::make_unique<void*[]>(words), nullptr};
  std::copy(table, table + words, made.with_ours.get());
  made.first = made.with_ours.get() + before;
  made.first[kReallocate] = reinterpret_cast<void*>(&reallocate);
  return room.functions.emplace_back(std::move(made)).first;
}

}  // namespace

bool keep_in_place(const void* begin) {
  const V8& v8 = process_v8();
  if (!v8.can_reallocate()) return false;
  Room& room = process_room();
  const std::lock_guard<std::mutex> lock(room.mutex);
  Allocator* const allocator = v8.allocator_of(v8.current_isolate());
  void** const functions = functions_with_ours(room, allocator->functions);
  if (functions == nullptr) return false;
  // Other threads free by the same table meanwhile.
  if (allocator->functions != functions) __atomic_store_n(&allocator->functions, functions, __ATOMIC_RELEASE);
  ++room.kept[begin].users;
  return true;
}

void let_go(const void* begin) noexcept {
  Room& room = process_room();
  const std::lock_guard<std::mutex> lock(room.mutex);
  const auto found = room.kept.find(begin);
  if (--found->second.users > 0) return;
  const Kept kept = found->second;
  room.kept.erase(found);
  if (kept.given_up_by == nullptr) return;
  reinterpret_cast<Free>(kept.given_up_by->functions[kFree])(kept.given_up_by, const_cast<void*>(begin), kept.bytes);
}

}  // namespace ltn::share
