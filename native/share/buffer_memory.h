// The memory of a JavaScript buffer, kept valid whatever JavaScript does to the buffer.
#pragma once

#include <memory>

namespace ltn::share {

// Keeps the bytes from `begin` in place: if detached, transferred or reallocated, the buffer leaves them behind.
// Lifetime: that of whoever reads the bytes; not beyond that of the main environment, see environment_end.h. Thread:
// hold() on the environment's JS thread; freed on any.
class BufferMemory {
 public:
  // `begin` is the buffer's first byte. Null if there is no backing store.
  static std::unique_ptr<BufferMemory> hold(std::shared_ptr<const void> store, const void* begin);
  ~BufferMemory();
  BufferMemory(const BufferMemory&) = delete;
  BufferMemory& operator=(const BufferMemory&) = delete;

 private:
  BufferMemory(std::shared_ptr<const void> store, const void* begin) : store_(std::move(store)), begin_(begin) {}

  const std::shared_ptr<const void> store_;  // also keeps a worker's V8 allocator
  const void* const begin_;
  bool is_pinned_ = false;  // registered with reallocation.h
};

}  // namespace ltn::share
