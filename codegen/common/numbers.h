// Text of floating-point numbers.
#pragma once

#include <string>

namespace codegen {

// The shortest decimal text that reads back as exactly `value`, in the form of Python's repr: "1.0", "1e-05",
// "0.3333333333333333".
std::string float_text(double value);

}  // namespace codegen
