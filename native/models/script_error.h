// Errors of TorchScript's interpreter and loader, as the library words them.
#pragma once

#include <exception>
#include <string>

namespace ltn::models {

// What went wrong and where in the model's source, in one line: libtorch's text is a traceback, with it at the end.
std::string script_message(const std::exception& error);

// Throws the current exception anew: with that message, and where memory was short as that, since the interpreter makes
// a plain error of everything. Call it only inside a catch block.
[[noreturn]] void throw_script_error();

}  // namespace ltn::models
