// Tensor memory that belongs to a JS ArrayBuffer.
#pragma once

#include <c10/core/Allocator.h>

#include <memory>
#include <utility>

#include "native/env/env_state.h"
#include "native/env/environment_end.h"
#include "native/errors/js_errors.h"
#include "native/share/buffer_memory.h"

namespace ltn {

// Keeps the memory for as long as a storage uses it, whatever JavaScript does to the ArrayBuffer; also keeps the
// ArrayBuffer, so that V8 counts the memory as in use. If V8 cannot be asked for the memory, it keeps the ArrayBuffer
// only. Lifetime: owned by the storage's DataPtr; its deleter returns the reference to the environment that created it.
// Thread: created on the JS thread; freed on any.
class BorrowedBuffer {
 public:
  BorrowedBuffer(std::shared_ptr<ReleaseQueue> queue, std::unique_ptr<share::BufferMemory> memory)
      : queue_(std::move(queue)), memory_(std::move(memory)) {}
  ~BorrowedBuffer() {
    if (reference_ != nullptr) queue_->push(reference_);
    // Leaked: its allocator is already destroyed, and the process is about to exit.
    if (has_main_environment_ended()) static_cast<void>(memory_.release());
  }
  BorrowedBuffer(const BorrowedBuffer&) = delete;
  BorrowedBuffer& operator=(const BorrowedBuffer&) = delete;

  void refer_to(napi_env env, napi_value buffer) { check(env, queue_->refer(buffer, &reference_)); }

  // The deleter of such a storage. It tells accounting that V8 counts this memory already.
  static void destroy(void* self) { delete static_cast<BorrowedBuffer*>(self); }

  static c10::DataPtr data_ptr(std::unique_ptr<BorrowedBuffer> buffer, void* data) {
    return {data, buffer.release(), &BorrowedBuffer::destroy, c10::Device(c10::DeviceType::CPU)};
  }

 private:
  std::shared_ptr<ReleaseQueue> queue_;
  std::unique_ptr<share::BufferMemory> memory_;
  napi_ref reference_ = nullptr;
};

}  // namespace ltn
