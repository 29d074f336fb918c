// YAML files of codegen/spec, with checked access: messages name the file, the line and what was expected.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "codegen/common/diagnostics.h"

namespace codegen {

inline int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

class File {
 public:
  // Throws Error if the file cannot be read or is not YAML.
  explicit File(const std::filesystem::path& path) : name_(path.string()) {
    try {
      root_ = YAML::LoadFile(name_);
    } catch (const YAML::BadFile&) {
      throw Error(name_, 0, "the file cannot be read");
    } catch (const YAML::ParserException& error) {
      throw Error(name_, error.mark.line + 1, error.msg, "well-formed YAML");
    }
  }

  const std::string& name() const { return name_; }
  const YAML::Node& root() const { return root_; }

  std::string text(const YAML::Node& parent, const char* key) const {
    const YAML::Node node = parent[key];
    if (!node) throw Error(name_, line_of(parent), std::string("the key '") + key + "' is missing", "a string");
    if (!node.IsScalar())
      throw Error(name_, line_of(node), std::string("'") + key + "' has the wrong type", "a string");
    return node.as<std::string>();
  }

  YAML::Node list(const YAML::Node& parent, const char* key) const {
    const YAML::Node node = parent[key];
    if (!node) throw Error(name_, line_of(parent), std::string("the key '") + key + "' is missing", "a list");
    if (!node.IsSequence())
      throw Error(name_, line_of(node), std::string("'") + key + "' has the wrong type", "a list");
    return node;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& message, const std::string& expected) const {
    throw Error(name_, line_of(node), message, expected);
  }

 private:
  std::string name_;
  YAML::Node root_;
};

// The YAML files of a folder, sorted by name.
inline std::vector<std::filesystem::path> yaml_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace codegen
