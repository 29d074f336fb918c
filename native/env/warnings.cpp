#include "native/env/warnings.h"

#include <utility>

namespace ltn {

void Warnings::warned(const std::string& text) {
  if (texts_.size() < kMax) texts_.push_back(text);
}

void Warnings::set_sink(napi_value function) {
  if (sink_ != nullptr) napi_delete_reference(env_, sink_);
  napi_create_reference(env_, function, 1, &sink_);
}

void Warnings::deliver_all() {
  bool pending = true;
  napi_value sink = nullptr;
  napi_value receiver = nullptr;
  if (sink_ == nullptr || napi_is_exception_pending(env_, &pending) != napi_ok || pending ||
      napi_get_reference_value(env_, sink_, &sink) != napi_ok || napi_get_undefined(env_, &receiver) != napi_ok) {
    return;  // left for the next op
  }
  const std::vector<std::string> texts = std::exchange(texts_, {});
  for (const std::string& text : texts) {
    napi_value argument = nullptr;
    if (napi_create_string_utf8(env_, text.data(), text.size(), &argument) != napi_ok ||
        napi_call_function(env_, receiver, sink, 1, &argument, nullptr) != napi_ok) {
      return;  // the sink threw: its exception is pending and reaches the caller
    }
  }
}

void Warnings::close() noexcept {
  if (compat::warning_handler() == this) compat::set_warning_handler(nullptr);
  if (sink_ != nullptr) napi_delete_reference(env_, sink_);
  sink_ = nullptr;
}

}  // namespace ltn
