// Names of libtorch's enumerations, as PyTorch spells them in Python without the "torch." in front.
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

namespace ltn {

std::string dtype_name(c10::ScalarType type);              // "float32", "qint8", "float8_e5m2"
const std::vector<std::string>& dtype_names();             // of all that this libtorch knows, by number
std::string layout_name(c10::Layout layout);               // "strided", "sparse_coo"
std::string memory_format_name(c10::MemoryFormat format);  // "contiguous", "channels_last"

}  // namespace ltn
