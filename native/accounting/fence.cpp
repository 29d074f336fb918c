#include "native/accounting/fence.h"

#ifdef LTN_FENCE
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace ltn::accounting {
namespace {

// A mapping: a page for its size, the pages of the data, a page that cannot be touched. Nobody may touch the first one
// either, except free_fenced.
struct Mapping {
  char* start = nullptr;
  size_t bytes = 0;
};

// Lifetime: static, never destroyed. Thread: any, under its mutex.
struct Freed {
  std::mutex mutex;
  std::array<Mapping, 4096> ring;
  size_t next = 0;
};
Freed& process_freed() {
  static auto& freed = *new Freed;
  return freed;
}

size_t page() noexcept {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

bool at_start() noexcept {
  static const bool is = [] {
    const char* const at = std::getenv("LTN_FENCE_AT");
    return at != nullptr && std::string_view(at) == "start";
  }();
  return is;
}

size_t round_up_to_pages(size_t bytes) noexcept { return (bytes + page() - 1) / page() * page(); }

}  // namespace

void* take_fenced(size_t bytes) noexcept {
  const size_t data = round_up_to_pages(bytes);
  if (data < bytes || data + 2 * page() < data) return nullptr;
  void* const memory =
      mmap(nullptr, data + 2 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const start = static_cast<char*>(memory);
  *reinterpret_cast<size_t*>(start) = bytes;
  mprotect(start, page(), PROT_NONE);
  mprotect(start + page() + data, page(), PROT_NONE);
  return at_start() ? start + page() : start + page() + data - bytes;
}

size_t free_fenced(void* data) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(data);
  auto* const start = reinterpret_cast<char*>(address / page() * page() - page());
  mprotect(start, page(), PROT_READ);
  const size_t bytes = *reinterpret_cast<const size_t*>(start);
  const Mapping mapping{start, round_up_to_pages(bytes) + 2 * page()};
  // Fresh pages without access in place of the old ones: their memory is given back, their addresses are not.
  mmap(start, mapping.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  Freed& freed = process_freed();
  const std::lock_guard<std::mutex> lock(freed.mutex);
  Mapping& oldest = freed.ring[freed.next++ % freed.ring.size()];
  if (oldest.start != nullptr) munmap(oldest.start, oldest.bytes);
  oldest = mapping;
  return bytes;
}

}  // namespace ltn::accounting
#endif
