#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "codegen/bindings/dts/doc.h"
#include "codegen/bindings/dts/members.h"
#include "codegen/bindings/dts/text.h"
#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/type_rules.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/output.h"

namespace codegen {
namespace {

const char* const kBaseTypes[] = {"Complex", "Device",     "DeviceLike", "DType",        "DTypeLike",  "FInfo",
                                  "IInfo",   "Int",        "Layout",     "MemoryFormat", "NamedTuple", "Options",
                                  "Parts",   "RawOp",      "Scalar",     "Shape",        "Signal",     "Storage",
                                  "Stream",  "TensorData", "TensorList"};

const char* const kCallTypes[] = {"FitsIn",     "In",     "LastIn", "Mode",    "Out",
                                  "PromisesIn", "RestIn", "Result", "SignalIn"};

bool has_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// The file: imports of the names that the body uses, then the body.
std::string with_imports(const Plan& plan, const std::string& body) {
  std::string text = kGeneratedHeader;
  if (has_word(body, "Tensor")) text += "import type { Tensor } from '../../lib/tensor/tensor';\n";
  std::string base;
  for (const char* const name : kBaseTypes) {
    if (has_word(body, name)) base += (base.empty() ? "" : ", ") + std::string(name);
  }
  std::string algebra;
  for (const std::string& name : algebra_names(*plan.spec)) {
    if (has_word(body, name)) algebra += (algebra.empty() ? "" : ", ") + name;
  }
  if (!algebra.empty()) text += "import type { " + algebra + " } from '../algebra';\n";
  std::string calls;
  for (const char* const name : kCallTypes) {
    if (has_word(body, name)) calls += (calls.empty() ? "" : ", ") + std::string(name);
  }
  if (!calls.empty()) text += "import type { " + calls + " } from '../calls';\n";
  if (!base.empty()) text += "import type { " + base + " } from '../base';\n";
  for (const PlannedClass& planned : plan.classes) {
    const std::string& name = planned.spec->name;
    if (has_word(body, name) && body.find("class " + name + " ") == std::string::npos) {
      text += "import type { " + name + " } from './classes';\n";
    }
  }
  return text + "\n" + body;
}

// "nn.functional" -> "NnFunctional"
std::string capitalised(const std::string& space) {
  std::string text;
  bool upper = true;
  for (const char c : space) {
    if (c == '.') {
      upper = true;
      continue;
    }
    text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return text;
}

std::string functions_text(const Plan& plan) {
  // What torch and torch.async do not have in common, by the mode K. types/calls.d.ts says what the names mean.
  const std::string parameters =
      "<K extends Mode = 'now', Given = In<K, Tensor>, Made = Result<K, Tensor>, Promises = PromisesIn<K>, "
      "Sig = SignalIn<K>, Rest extends unknown[] = RestIn<K>>";
  std::string body;
  for (const auto& [space, groups] : plan.functions) {
    if (is_hidden(space)) continue;
    body += "/** The ops of `torch" + (space.empty() ? "" : "." + space) + "`. */\nexport interface ";
    body += capitalised(space) + "Functions" + parameters + " {\n";
    body += members_text(plan, groups, space);
    body += "}\n\n";
  }
  return with_imports(plan, body);
}

std::string methods_text(const Plan& plan) {
  std::string body = "/** The ops that are methods of Tensor. */\nexport interface TensorMethods {\n";
  body += members_text(plan, plan.methods, "Tensor");
  return with_imports(plan, body + "}\n");
}

std::string ops_text(const Plan& plan) {
  std::map<std::string, std::string> by_name;
  for (const PlannedOp& op : plan.ops) {
    if (op.number < 0) continue;
    const Declaration& declaration = *op.declaration;
    const std::string overload = declaration.overload.empty() ? "default" : declaration.overload;
    by_name[declaration.name] += "  " + doc_line("", declaration.schema) + "      " + member_name(overload) +
                                 ": RawOp<" + raw_function_type(declaration) + ">;\n";
  }
  std::string body =
      "/** Every overload by its exact name: `torch.ops`. */\nexport interface RawOps {\n  readonly aten: {\n";
  for (const auto& [name, members] : by_name) body += "    " + member_name(name) + ": {\n" + members + "    };\n";
  return with_imports(plan, body + "  };\n}\n");
}

std::string class_text(const PlannedClass& planned) {
  const ClassSpec& spec = *planned.spec;
  std::string text = "/** " + spec.doc + " */\nexport declare class " + spec.name + " {\n";
  for (const ClassFunction& function : spec.functions) {
    const CallShape shape = call_shape(function.declaration, function.is_static ? -1 : 0);
    const bool is_constructor = function.declaration.name == "new";
    const std::string name = is_constructor ? "constructor" : member_name(camel_case(function.declaration.name));
    if (function.property) {
      text += "  /** " + function.doc + " */\n  readonly " + name + ": " + shape.result + ";\n";
      continue;
    }
    for (std::string form : call_forms(shape, Mixtures::Most)) {
      if (is_constructor) form.resize(form.size() - shape.result.size() - 2);
      if (function.chains) form = form.substr(0, form.size() - shape.result.size()) + "this";
      text += "  /** " + function.doc + " */\n  " + (function.is_static && !is_constructor ? "static " : "") + name +
              form + ";\n";
    }
  }
  const bool has_constructor =
      std::any_of(spec.functions.begin(), spec.functions.end(),
                  [](const ClassFunction& function) { return function.declaration.name == "new"; });
  if (!has_constructor) text += "  private constructor();\n";
  text += "  /** Whether the object was released. */\n  readonly disposed: boolean;\n";
  text += "  /** Releases what the object holds; doing so again does nothing. */\n  dispose(): void;\n";
  return text + "  [Symbol.dispose](): void;\n}\n\n";
}

std::string classes_text(const Plan& plan) {
  std::string body;
  for (const PlannedClass& planned : plan.classes) body += class_text(planned);
  // Without exports the file would not be a module.
  return with_imports(plan, body.empty() ? "export {};\n" : body);
}

// The type of the object at `path` ("nn"; "" is the module): its own functions, and the namespaces below it.
std::string space_type(const Plan& plan, const std::string& path) {
  std::string type;
  if (plan.functions.count(path) != 0) type = capitalised(path) + "Functions";
  std::set<std::string> below;
  const std::string start = path.empty() ? "" : path + ".";
  for (const auto& [space, groups] : plan.functions) {
    if (is_hidden(space) || space.size() <= start.size() || space.rfind(start, 0) != 0) continue;
    below.insert(space.substr(start.size(), space.find('.', start.size()) - start.size()));
  }
  std::string members;
  for (const std::string& name : below) {
    members += (members.empty() ? "" : "; ") + ("readonly " + name + ": " + space_type(plan, start + name));
  }
  if (members.empty()) return type;
  return (type.empty() ? "" : type + " & ") + "{ " + members + " }";
}

std::string exports_text(const Plan& plan) {
  std::string names;
  std::set<std::string> tops;
  for (const auto& [space, groups] : plan.functions) {
    if (is_hidden(space)) continue;
    names += (names.empty() ? "" : ", ") + capitalised(space) + "Functions";
    if (!space.empty()) tops.insert(space.substr(0, space.find('.')));
  }
  std::string text = kGeneratedHeader;
  text += "import type { " + names + " } from './functions';\n";
  text += "import type { RawOps } from './ops';\n\n";
  for (const std::string& top : tops) {
    text += "/** `torch." + top + "` */\nexport declare const " + top + ": " + space_type(plan, top) + ";\n";
  }
  text += "/** Every op by its exact name. */\nexport declare const ops: RawOps;\n\n";
  std::set<std::string> members;
  const auto groups = plan.functions.find("");
  if (groups != plan.functions.end()) {
    for (const Group& group : groups->second) members.insert(group.js_name);
  }
  const auto publics = plan.publics.find("");
  if (publics != plan.publics.end()) {
    for (const auto& [name, function] : publics->second) members.insert(name);
  }
  for (const std::string& name : members) {
    if (is_reserved(name)) {
      text += "declare const " + name + "_: Functions['" + name + "'];\nexport { " + name + "_ as " + name + " };\n";
    } else {
      text += "export declare const " + name + ": Functions['" + name + "'];\n";
    }
  }
  return text;
}

}  // namespace

Files emit_dts(const Plan& plan) {
  Files files;
  files["types/generated/functions.d.ts"] = functions_text(plan);
  files["types/generated/methods.d.ts"] = methods_text(plan);
  files["types/generated/ops.d.ts"] = ops_text(plan);
  files["types/generated/classes.d.ts"] = classes_text(plan);
  files["types/generated/exports.d.ts"] = exports_text(plan);
  return files;
}

}  // namespace codegen
