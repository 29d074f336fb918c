#include "codegen/declarations/headers.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "codegen/common/diagnostics.h"
#include "codegen/common/output.h"

namespace codegen {
namespace fs = std::filesystem;
namespace {

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  return text.substr(at, end - at);
}

bool follows(std::string_view text, std::size_t at, std::string_view expected) {
  return text.substr(std::min(at, text.size()), expected.size()) == expected;
}

// Every X of `at::_ops::X::call(`.
void collect_calls(std::string_view text, std::unordered_set<std::string>& into) {
  constexpr std::string_view prefix = "at::_ops::";
  for (std::size_t at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix, at)) {
    at += prefix.size();
    const std::string_view word = word_at(text, at);
    if (follows(text, at + word.size(), "::call(")) into.emplace(word);
  }
}

// Removes the blocks `namespace symint {…}`, whose templates duplicate functions and also exist for ops without a
// function or method.
std::string without_symint(std::string text) {
  constexpr std::string_view open = "namespace symint {";
  constexpr std::string_view close = "\n}";
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const std::size_t end = text.find(close, at);
    text.erase(at, end == std::string::npos ? end : end + close.size() - at);
  }
  return text;
}

void collect_structs(const fs::path& path, std::string_view text, Headers& headers) {
  constexpr std::string_view prefix = "struct TORCH_API ";
  constexpr std::string_view alias = "using schema = ";
  for (std::size_t at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix, at)) {
    at += prefix.size();
    const std::string_view word = word_at(text, at);
    if (!follows(text, at + word.size(), " {")) continue;
    const std::size_t start = text.find(alias, at);
    const std::size_t end = text.find(";\n", start);
    if (start == std::string_view::npos || end == std::string_view::npos) {
      const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
      throw Error(path.string(), static_cast<int>(line), "at::_ops::" + std::string(word) + " lacks its signature",
                  "`using schema = …;`");
    }
    const std::string signature(text.substr(start + alias.size(), end - start - alias.size()));
    headers.structs.emplace(word, OpsStruct{path.filename().string(), signature});
  }
}

// The spelling of types in this libtorch's own signatures.
void read_spelling(const std::unordered_map<std::string, OpsStruct>& structs, Spelling& spelling) {
  for (const auto& [name, ops] : structs) {
    if (ops.signature.find("std::optional<") != std::string::npos) {
      spelling.optional = "::std::optional";
      spelling.nullopt = "::std::nullopt";
    }
    if (ops.signature.find("std::string_view") != std::string::npos) spelling.string_view = "::std::string_view";
  }
}

// The N or "text" of `#define NAME N`, which may follow on the next line after a backslash.
std::string macro(std::string_view text, const std::string& name) {
  const std::string define = "#define " + name + " ";
  const std::size_t at = text.find(define);
  if (at == std::string_view::npos) return "";
  std::size_t start = text.find_first_not_of(" \\\n\"", at + define.size());
  if (start == std::string_view::npos) return "";
  return std::string(text.substr(start, text.find_first_of(" \n\"", start) - start));
}

// Newer libtorch moved the numbers to torch/headeronly/version.h and includes that, so the old place may lack them.
std::string read_version(const fs::path& include) {
  const std::vector<fs::path> places = {include / "torch/csrc/api/include/torch/version.h",
                                        include / "torch/headeronly/version.h", include / "torch/version.h"};
  for (const fs::path& place : places) {
    if (!fs::exists(place)) continue;
    const std::string text = read_text(place);
    std::string version;
    for (const char* part : {"MAJOR", "MINOR", "PATCH"}) {
      const std::string number = macro(text, std::string("TORCH_VERSION_") + part);
      if (number.empty()) break;
      version += (version.empty() ? "" : ".") + number;
    }
    if (std::count(version.begin(), version.end(), '.') == 2) return version;
  }
  throw Error(places[0].string(), 0, "the libtorch version was not found",
              "#define TORCH_VERSION_MAJOR, _MINOR and _PATCH");
}

}  // namespace

Headers scan_headers(const fs::path& include) {
  Headers headers;
  headers.version = read_version(include);
  collect_calls(read_text(include / "ATen/core/TensorBody.h"), headers.methods);

  const fs::path folder = include / "ATen/ops";
  if (!fs::is_directory(folder)) throw Error(folder.string(), 0, "is not a folder", "the headers of all operators");
  const std::string suffix = "_ops.h";
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) continue;
    collect_structs(entry.path(), read_text(entry.path()), headers);
    const fs::path functions = folder / (name.substr(0, name.size() - suffix.size()) + ".h");
    const std::string text = without_symint(read_text(functions));
    collect_calls(text, headers.functions);
    if (text.find("=c10::MemoryFormat::") != std::string::npos) headers.spelling.memory_format = "c10::MemoryFormat";
  }
  if (headers.structs.empty())
    throw Error(folder.string(), 0, "does not contain *_ops.h", "the headers of all operators");
  read_spelling(headers.structs, headers.spelling);
  return headers;
}

}  // namespace codegen
