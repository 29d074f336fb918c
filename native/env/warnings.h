// Turns libtorch's warnings, which would go to stderr in their own format, into Node's.
#pragma once

#include <node_api.h>

#include <string>
#include <vector>

#include "native/compat.h"

namespace ltn {

// Collects the warnings of ops and passes them to JavaScript after the op. Lifetime: part of its environment. Thread:
// the environment's JS thread; libtorch's handler is per thread as well.
class Warnings final : public compat::WarningHandler {
 public:
  explicit Warnings(napi_env env) : env_(env) {}
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  // Receives libtorch's warnings of this thread until another environment of the thread runs an op (Jest loads the
  // library many times), or until close().
  void install() noexcept {
    if (compat::warning_handler() != this) compat::set_warning_handler(this);
  }

  // The JS function that gets each text.
  void set_sink(napi_value function);

  // Adds a warning of an op on another thread.
  void add(const std::string& text) { warned(text); }

  // Calls the sink for the collected warnings; returns whether there were any. The sink may throw: then a JS exception
  // is pending. Not while a JS exception is pending, nor inside SlotTable::Busy.
  bool deliver() {
    if (texts_.empty()) return false;
    deliver_all();
    return true;
  }

  // Before the environment ends.
  void close() noexcept;

 private:
  void warned(const std::string& text) override;
  void deliver_all();

  static constexpr size_t kMax = 64;  // a loop inside an op may warn a thousand times
  const napi_env env_;
  napi_ref sink_ = nullptr;
  std::vector<std::string> texts_;
};

}  // namespace ltn
