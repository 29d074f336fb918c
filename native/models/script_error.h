// Errors of TorchScript's interpreter and loader, in the library's wording.
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace ltn::models {

// The message and the place in the model's source, in one line: libtorch's text is a traceback that ends with it.
std::string script_message(const std::exception& error);

// Rethrows the current exception with that message; memory errors keep their type, since the interpreter turns
// everything into a plain error. Call it only inside a catch block.
[[noreturn]] void throw_script_error();

// Runs a part of libtorch other than a model's own code. Its errors become a CodedError (ERR_TORCH_MODEL) that begins
// with `what`; memory errors keep their type.
void run_or_refuse(const std::string& what, const std::function<void()>& run);

}  // namespace ltn::models
