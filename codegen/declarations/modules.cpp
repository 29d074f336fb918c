#include "codegen/declarations/modules.h"

#include <yaml-cpp/yaml.h>

#include "codegen/common/diagnostics.h"
#include "codegen/common/output.h"

namespace codegen {

PythonModules::PythonModules(const std::filesystem::path& spec) {
  const std::string file = spec.string();
  const std::string text = read_text(spec);
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() || !root["prefixes"].IsSequence() || !root["exceptions"].IsSequence()) {
      throw Error(file, 1, "not a module list", "the lists `prefixes` and `exceptions`");
    }
    prefixes_ = root["prefixes"].as<std::vector<std::string>>();
    for (const YAML::Node& entry : root["exceptions"]) {
      const int line = entry.Mark().line + 1;
      if (!entry.IsMap() || !entry["module"] || !entry["reason"] || !entry["names"]) {
        throw Error(file, line, "incomplete exception", "module, reason and names");
      }
      for (const YAML::Node& name : entry["names"]) {
        if (exceptions_.emplace(name.as<std::string>(), entry["module"].as<std::string>()).second) continue;
        throw Error(file, name.Mark().line + 1, "'" + name.as<std::string>() + "' is listed twice", "one module");
      }
    }
  } catch (const YAML::Exception& error) {
    throw Error(file, error.mark.line + 1, error.msg, "YAML with the lists `prefixes` and `exceptions`");
  }
}

std::string PythonModules::of(const std::string& name, bool generated) const {
  if (generated) return "";
  const auto exception = exceptions_.find(name);
  if (exception != exceptions_.end()) return exception->second;
  for (const std::string& prefix : prefixes_) {
    if (name.compare(0, prefix.size() + 1, prefix + "_") == 0) return prefix;
  }
  return "";
}

}  // namespace codegen
