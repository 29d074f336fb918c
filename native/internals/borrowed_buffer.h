// Tensor memory that belongs to a JS ArrayBuffer.
#pragma once

#include <c10/core/Allocator.h>

#include <memory>

#include "native/env/env_state.h"

namespace ltn {

// Keeps the ArrayBuffer alive for as long as a storage uses its memory.
// Lifetime: owned by the storage's DataPtr; its deleter hands the reference back to the environment that made it.
// Thread: made on the JS thread; freed on any.
class BorrowedBuffer {
 public:
  BorrowedBuffer(std::shared_ptr<ReleaseQueue> queue, napi_ref reference)
      : queue_(std::move(queue)), reference_(reference) {}
  ~BorrowedBuffer() { queue_->push(reference_); }
  BorrowedBuffer(const BorrowedBuffer&) = delete;
  BorrowedBuffer& operator=(const BorrowedBuffer&) = delete;

  // The deleter of such a storage, by which accounting knows that V8 counts this memory already.
  static void destroy(void* self) { delete static_cast<BorrowedBuffer*>(self); }

  static c10::DataPtr data_ptr(std::unique_ptr<BorrowedBuffer> buffer, void* data) {
    return {data, buffer.release(), &BorrowedBuffer::destroy, c10::Device(c10::DeviceType::CPU)};
  }

 private:
  std::shared_ptr<ReleaseQueue> queue_;
  napi_ref reference_;
};

}  // namespace ltn
