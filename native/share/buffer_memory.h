// The memory of a buffer of JavaScript's, held against everything that JavaScript can do to the buffer.
#pragma once

#include <memory>

namespace ltn::share {

// Keeps the bytes from `begin` on where they are: detached, transferred or reallocated, the buffer leaves them behind.
// Lifetime: that of whoever reads the bytes; not beyond that of the main environment, see environment_end.h.
// Thread: hold() on the environment's JS thread; freed on any.
class BufferMemory {
 public:
  // `begin` is the buffer's first byte. Null where there is no backing store to hold.
  static std::unique_ptr<BufferMemory> hold(std::shared_ptr<const void> store, const void* begin);
  ~BufferMemory();
  BufferMemory(const BufferMemory&) = delete;
  BufferMemory& operator=(const BufferMemory&) = delete;

 private:
  BufferMemory(std::shared_ptr<const void> store, const void* begin) : store_(std::move(store)), begin_(begin) {}

  const std::shared_ptr<const void> store_;  // keeps V8's allocator, too, where that is a worker's
  const void* const begin_;
  bool kept_ = false;  // told to reallocation.h
};

}  // namespace ltn::share
