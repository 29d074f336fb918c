// Errors of TorchScript's interpreter and loader, in the library's wording.
#pragma once

#include <exception>
#include <string>

namespace ltn::models {

// The message and the place in the model's source, in one line: libtorch's text is a traceback that ends with it.
std::string script_message(const std::exception& error);

// Rethrows the current exception with that message; memory errors keep their type, since the interpreter turns
// everything into a plain error. Call it only inside a catch block.
[[noreturn]] void throw_script_error();

}  // namespace ltn::models
