#include "native/share/buffer_memory.h"

#include "native/share/reallocation.h"

namespace ltn::share {

std::unique_ptr<BufferMemory> BufferMemory::hold(std::shared_ptr<const void> store, const void* begin) {
  if (store == nullptr) return nullptr;
  std::unique_ptr<BufferMemory> memory(
      new BufferMemory(std::move(store), begin));  // private constructor: owned at once
  if (begin != nullptr) memory->kept_ = keep_in_place(begin);
  return memory;
}

// Before the store, whose end frees the memory, which may be somebody else's at once.
BufferMemory::~BufferMemory() {
  if (kept_) let_go(begin_);
}

}  // namespace ltn::share
