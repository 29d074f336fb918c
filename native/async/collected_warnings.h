// libtorch's warnings on a thread that has no JavaScript.
#pragma once

#include <string>
#include <vector>

#include "native/compat.h"

namespace ltn::async {

// Collects the warnings of this thread's ops, to be passed on by the JS thread. Lifetime: a frame of the thread.
class CollectedWarnings final : public compat::WarningHandler {
 public:
  explicit CollectedWarnings(std::vector<std::string>& texts) : texts_(texts), before_(compat::warning_handler()) {
    compat::set_warning_handler(this);
  }
  ~CollectedWarnings() { compat::set_warning_handler(before_); }
  CollectedWarnings(const CollectedWarnings&) = delete;
  CollectedWarnings& operator=(const CollectedWarnings&) = delete;

 private:
  void warned(const std::string& text) override {
    constexpr size_t kMax = 64;  // a loop inside an op may warn a thousand times
    if (texts_.size() < kMax) texts_.push_back(text);
  }
  std::vector<std::string>& texts_;
  c10::WarningHandler* const before_;
};

}  // namespace ltn::async
