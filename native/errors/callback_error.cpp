#include "native/errors/callback_error.h"

#include <exception>
#include <utility>

namespace ltn {
namespace {

// Thread: that of the callback and of the interpreter that called it.
thread_local std::exception_ptr thread_error;

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {  // of another type: it has no text
    return "";
  }
}

}  // namespace

void keep_callback_error() noexcept { thread_error = std::current_exception(); }

void rethrow_callback_error(const std::string& text) {
  if (thread_error == nullptr) return;
  const std::string kept = text_of(thread_error);
  if (kept.empty() || text.find(kept) == std::string::npos) return;
  std::rethrow_exception(std::exchange(thread_error, nullptr));
}

void forget_callback_error() noexcept { thread_error = nullptr; }

}  // namespace ltn
