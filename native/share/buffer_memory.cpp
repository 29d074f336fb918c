#include "native/share/buffer_memory.h"

#include "native/share/reallocation.h"

namespace ltn::share {

std::unique_ptr<BufferMemory> BufferMemory::hold(std::shared_ptr<const void> store, const void* begin) {
  if (store == nullptr) return nullptr;
  std::unique_ptr<BufferMemory> memory(
      new BufferMemory(std::move(store), begin));  // private constructor: owned at once
  if (begin != nullptr) memory->is_pinned_ = pin_in_place(begin);
  return memory;
}

// Before the store is released, which frees the memory for immediate reuse.
BufferMemory::~BufferMemory() {
  if (is_pinned_) unpin(begin_);
}

}  // namespace ltn::share
