// Exceptions of callbacks that pass through code which keeps only their texts: TorchScript's interpreter.
#pragma once

#include <string>

namespace ltn {

// Keeps the exception in flight, in a `catch`: it leaves a callback that this thread has called.
void keep_callback_error() noexcept;
// Rethrows the kept exception if `text`, of the error that came out in its place, contains its text.
void rethrow_callback_error(const std::string& text);
// The exceptions of earlier callbacks do not count any more.
void forget_callback_error() noexcept;

}  // namespace ltn
