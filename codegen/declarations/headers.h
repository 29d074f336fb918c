// Properties of operators beyond their schema, from the installed headers.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace codegen {

// `struct TORCH_API add_Tensor { using schema = …;` of an ATen/ops/*_ops.h.
struct OpsStruct {
  std::string header;     // "add_ops.h"
  std::string signature;  // "at::Tensor (const at::Tensor &, const at::Tensor &, const at::Scalar &)"
};

// The spelling in this libtorch of names that have moved between namespaces.
struct Spelling {
  std::string optional = "c10::optional";
  std::string nullopt = "c10::nullopt";
  std::string string_view = "c10::string_view";
  std::string memory_format = "MemoryFormat";  // of a default
};

struct Headers {
  std::string version;                                 // "2.6.0"
  std::unordered_map<std::string, OpsStruct> structs;  // by name: "add_Tensor"
  std::unordered_set<std::string> methods;             // structs that a method of at::Tensor calls
  std::unordered_set<std::string> functions;           // structs that a function in namespace at calls
  Spelling spelling;
};

// Scans the headers below an include folder (the one that contains ATen/). Throws Error for a missing one.
Headers scan_headers(const std::filesystem::path& include);

}  // namespace codegen
