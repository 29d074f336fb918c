#include "codegen/bindings/spec/guards.h"

#include <algorithm>
#include <set>
#include <vector>

#include "codegen/bindings/spec/spec_file.h"

namespace codegen {

static bool some_releases(const File& file, const YAML::Node& node) {
  const YAML::Node some = node["some_releases"];
  if (!some) return false;
  if (!some.IsScalar() || some.as<std::string>() != "true") {
    file.fail(some, "'some_releases' has an invalid value", "'true'");
  }
  return true;
}

// Ops whose results must be different tensors from those that they read, and from each other.
static void load_apart(const File& file, std::map<std::string, Guard>& guards) {
  if (!file.root()["apart"]) return;
  for (const YAML::Node& node : file.list(file.root(), "apart")) {
    const std::string reason = file.text(node, "reason");
    const bool some = some_releases(file, node);
    for (const YAML::Node& op : file.list(node, "ops")) {
      Guard& guard = guards[op.as<std::string>()];
      if (guard.apart) file.fail(op, "the op is listed twice", "one entry per op");
      guard.apart = true;
      guard.some_releases = some || guard.some_releases;
      guard.reason += (guard.demand.empty() ? "" : " ") + reason;
      guard.file = file.name();
      guard.line = line_of(op);
    }
  }
}

static void load_conditions(const File& file, std::map<std::string, Guard>& guards) {
  if (!file.root()["guards"]) return;
  for (const YAML::Node& node : file.list(file.root(), "guards")) {
    Guard guard;
    guard.argument = file.text(node, "argument");
    guard.demand = file.text(node, "demand");
    guard.expected = file.text(node, "expected");
    guard.got = file.text(node, "got");
    guard.reason = file.text(node, "reason");
    guard.some_releases = some_releases(file, node);
    guard.file = file.name();
    if (const YAML::Node renamed = node["renamed"]; renamed) {
      if (!renamed.IsMap()) file.fail(renamed, "'renamed' has an invalid value", "a map of names to names");
      for (const auto& names : renamed) guard.renamed[names.second.as<std::string>()] = names.first.as<std::string>();
    }
    for (const YAML::Node& op : file.list(node, "ops")) {
      guard.line = line_of(op);
      if (!guards.emplace(op.as<std::string>(), guard).second)
        file.fail(op, "the op is listed twice", "one guard per op");
    }
  }
}

std::map<std::string, Guard> load_guards(const std::filesystem::path& folder) {
  std::map<std::string, Guard> guards;
  if (!std::filesystem::exists(folder)) return guards;
  std::vector<File> files;
  for (const std::filesystem::path& path : yaml_files(folder)) {
    const File& file = files.emplace_back(path);
    if (!file.root()["guards"] && !file.root()["apart"])
      file.fail(file.root(), "no list is there", "'guards' or 'apart'");
  }
  for (const File& file : files) load_conditions(file, guards);
  for (const File& file : files) load_apart(file, guards);
  return guards;
}

static bool is_result(const Argument& argument) { return argument.out && !argument.type.list; }

static bool has_result_argument(const Declaration& declaration) {
  return std::any_of(declaration.arguments.begin(), declaration.arguments.end(), is_result);
}

// The name of an argument in the guard's conditions.
static std::string name_in(const Guard& guard, const Argument& argument) {
  const auto renamed = guard.renamed.find(argument.name);
  return renamed == guard.renamed.end() ? argument.name : renamed->second;
}

void check_guards(const Spec& spec, const Model& model) {
  std::map<std::string, const Declaration*> declared;
  for (const Declaration& declaration : model.declarations) declared[declaration.full_name()] = &declaration;
  for (const auto& [name, guard] : spec.guards) {
    const auto found = declared.find(name);
    if (found == declared.end()) {
      if (guard.some_releases) continue;
      throw Error(guard.file, guard.line, "'" + name + "' is not declared", "an op of this libtorch");
    }
    if (guard.apart && !has_result_argument(*found->second)) {
      throw Error(guard.file, guard.line, "'" + name + "' writes no result to an argument", "an op with `out`");
    }
    if (guard.demand.empty()) continue;
    std::set<std::string> taken;
    for (const Argument& argument : found->second->arguments) taken.insert(name_in(guard, argument));
    if (taken.count(guard.argument) == 0) {
      throw Error(guard.file, guard.line, "'" + name + "' does not take '" + guard.argument + "'",
                  "an argument of the op");
    }
  }
}

std::string guard_name(const Declaration& declaration) { return "Guard_" + declaration.cpp_struct(); }

// A check for each result and each tensor that the op reads, and for each two results.
static std::string apart_checks(const Declaration& declaration, const Guard& guard) {
  std::string checks;
  for (const Argument& result : declaration.arguments) {
    if (!is_result(result)) continue;
    for (const Argument& read : declaration.arguments) {
      const Type& type = read.type;
      if (read.out || type.base != Base::Tensor || type.list) continue;
      const std::string out = name_in(guard, result);
      const std::string in = name_in(guard, read);
      const std::string is_same =
          type.nullable ? "(" + in + ".has_value() && " + out + ".is_same(*" + in + "))" : out + ".is_same(" + in + ")";
      checks += "    TORCH_CHECK(!" + is_same + ", \"" + out + ": expected a tensor other than " + in +
                ", got the same tensor\");\n";
    }
    for (const Argument& other : declaration.arguments) {
      if (&other == &result) break;  // each pair once
      if (!is_result(other)) continue;
      const std::string out = name_in(guard, result);
      const std::string in = name_in(guard, other);
      checks += "    TORCH_CHECK(!" + out + ".is_same(" + in + "), \"" + out + ": expected a tensor other than " + in +
                ", got the same tensor\");\n";
    }
  }
  return checks;
}

std::string guard_struct(const Declaration& declaration, const Guard& guard) {
  std::string types;
  std::string parameters;
  for (size_t i = 0; i < declaration.arguments.size(); ++i) {
    const std::string type = "A" + std::to_string(i);
    types += (i == 0 ? "class " : ", class ") + type;
    parameters +=
        (i == 0 ? "" : ", ") + ("[[maybe_unused]] const " + type + "& ") + name_in(guard, declaration.arguments[i]);
  }
  std::string checks = guard.apart ? apart_checks(declaration, guard) : "";
  if (!guard.demand.empty()) {
    checks += "    TORCH_CHECK(" + guard.demand + ", \"" + guard.argument + ": expected \", " + guard.expected +
              ", \", got \", " + guard.got + ");\n";
  }
  return "// " + guard.reason + "\nstruct " + guard_name(declaration) + " {\n  template <" + types +
         ">\n  static void check(" + parameters + ") {\n" + checks + "  }\n};\n";
}

}  // namespace codegen
