#include "codegen/declarations/registrations.h"

#include <yaml-cpp/yaml.h>

#include <sstream>

#include "codegen/common/diagnostics.h"
#include "codegen/common/output.h"

namespace codegen {
namespace {

std::string text_of(const YAML::Node& json, const char* key, const std::string& file, int line) {
  const YAML::Node node = json[key];
  if (!node || !node.IsScalar()) {
    throw Error(file, line, std::string("the JSON lacks a text under \"") + key + "\"",
                R"({"schema": "…", "dispatch": "True" or "False", "default": …})");
  }
  return node.Scalar();
}

Registration read_line(const std::string& text, const std::string& file, int line) {
  const std::size_t comment = text.find("// {");
  if (comment == std::string::npos) {
    throw Error(file, line, "the JSON after the signature is missing", R"(`signature; // {"schema": …}`)");
  }
  YAML::Node json;
  try {
    json = YAML::Load(text.substr(comment + 3));  // JSON is YAML
  } catch (const YAML::Exception& error) {
    throw Error(file, line, "the comment is not JSON (" + error.msg + ")", R"({"schema": …, "dispatch": …})");
  }
  if (!json.IsMap()) throw Error(file, line, "the comment is not a JSON object", R"({"schema": …, "dispatch": …})");
  Registration result;
  result.schema = text_of(json, "schema", file, line);
  result.line = line;
  const std::string dispatch = text_of(json, "dispatch", file, line);
  if (dispatch != "True" && dispatch != "False") {
    throw Error(file, line, "\"dispatch\" is '" + dispatch + "'", "True or False");
  }
  result.dispatch = dispatch == "True";
  return result;
}

}  // namespace

std::vector<Registration> read_registrations(const std::filesystem::path& header) {
  std::istringstream in(read_text(header));
  std::vector<Registration> result;
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    const bool is_code = text.find_first_not_of(" \r") != std::string::npos && text[0] != '#';
    if (!is_code || text.compare(0, 2, "//") == 0) continue;
    result.push_back(read_line(text, header.string(), line));
  }
  if (result.empty()) throw Error(header.string(), 0, "does not declare operators", "one registration per line");
  return result;
}

}  // namespace codegen
