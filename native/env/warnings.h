// libtorch's warnings, which would go to stderr in a format of their own, become Node's.
#pragma once

#include <c10/util/Exception.h>
#include <node_api.h>

#include <string>
#include <vector>

namespace ltn {

// Gathers what ops warn of and hands it to JavaScript after the op.
// Lifetime: part of its environment. Thread: the environment's JS thread; libtorch's handler is per thread as well.
class Warnings final : public c10::WarningHandler {
 public:
  explicit Warnings(napi_env env) : env_(env) {}
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  void process(const c10::SourceLocation& source, const std::string& text, bool verbatim) override;

  // While one stands, libtorch's warnings of this thread go to `warnings`.
  class Guard {
   public:
    explicit Guard(Warnings& warnings) noexcept;
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    c10::WarningHandler* const previous_;
  };

  // The JS function that gets each text.
  void set_sink(napi_value function);

  // Calls the sink for what was gathered. Not while a JS exception is pending, nor inside SlotTable::Busy.
  void deliver() {
    if (!texts_.empty()) deliver_all();
  }

  // Before the environment ends.
  void close() noexcept;

 private:
  void deliver_all();

  static constexpr size_t kMost = 64;  // a loop inside an op may warn a thousand times
  const napi_env env_;
  napi_ref sink_ = nullptr;
  std::vector<std::string> texts_;
};

}  // namespace ltn
