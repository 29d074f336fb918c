#include "codegen/bindings/dts/doc.h"

#include <algorithm>
#include <vector>

#include "codegen/bindings/spec/type_rules.h"
#include "codegen/bindings/text/js_text.h"
#include "codegen/bindings/text/names.h"

namespace codegen {
namespace {

std::string title(const std::string& name, const std::string& schema) {
  std::string text = schema;
  for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/")) text.replace(at, 2, "*\\/");
  return (name.empty() ? "" : name + ": ") + "`" + text + "`";
}

// The description of an argument, from its type and name.
std::string meaning(const Argument& argument) {
  const Type& type = argument.type;
  if (is_dimension(argument)) {
    return type.list ? "dimensions; negative ones count from the end" : "a dimension; negative ones count from the end";
  }
  switch (type.base) {
    case Base::Tensor:
      if (type.list)
        return type.element_nullable ? "tensors, null where there is none" : "tensors, in an array or any iterable";
      return "a tensor";
    case Base::Scalar:
      return "a number, bigint, boolean or complex number; its kind takes part in type promotion";
    case Base::Int:
      if (!type.list) return "an integer";
      return type.size > 1 ? "integers, or one number for all " + std::to_string(type.size) : "integers";
    case Base::Float:
      return type.list ? "numbers" : "a number";
    case Base::Bool:
      return type.list ? "booleans" : "a boolean";
    case Base::Str:
      return "a string";
    case Base::Dtype:
      return argument.kwarg_only ? "the dtype of the result" : "a dtype";
    case Base::Layout:
      return "the layout of the result";
    case Base::MemoryFormat:
      return "the order of the dimensions in memory";
    case Base::Device:
      return "the device of the result";
    case Base::Generator:
      return "the random number generator; null uses the device's default one";
    case Base::ScriptModule:
      return "a model";
    case Base::Storage:
      return "the memory of a tensor";
    case Base::Stream:
      return "a stream of a device";
    case Base::Dimname:
      return type.list ? "names of dimensions" : "the name of a dimension";
    case Base::QScheme:
      return "a quantization scheme";
    case Base::DeviceIndex:
    case Base::SymBool:
    case Base::Any:
    case Base::True:
      return "";
  }
  return "";
}

std::string default_text(const Default& value) {
  return value.kind == Default::Kind::None ? "null" : default_json(value);
}

std::string parameter_line(const Argument& argument) {
  std::string text = "@param " + std::string(argument.kwarg_only ? "options." : "") + argument_js_name(argument.name) +
                     " - " + meaning(argument);
  if (argument.mutated) text += "; it is modified in place";
  if (argument.kwarg_only) text += "; by name only";
  if (argument.default_value) text += ". Default: " + default_text(*argument.default_value);
  return text;
}

// How the result relates to the arguments, by the schema's aliases; "" if it is a new value.
std::string result_line(const Declaration& declaration) {
  if (declaration.returns.empty()) return "";
  const std::string& alias = declaration.returns[0].alias;
  if (alias.empty()) return "";
  for (const Argument& argument : declaration.arguments) {
    if (argument.alias.empty() || argument.alias[0] != alias[0]) continue;
    const std::string name = argument_js_name(argument.name);
    return argument.mutated ? "@returns " + name + " itself" : "@returns a view: it can share the memory of " + name;
  }
  return "";
}

std::string errors_line(const Declaration& declaration) {
  std::string text =
      "@throws ERR_TORCH_OVERLOAD when no signature fits, ERR_TORCH_RUNTIME when libtorch refuses the shapes, dtypes "
      "or "
      "devices";
  if (std::any_of(declaration.arguments.begin(), declaration.arguments.end(), is_dimension)) {
    text += ", ERR_TORCH_INDEX for a dimension out of range";
  }
  return text + ", ERR_TORCH_DISPOSED for a tensor that was disposed or freed";
}

}  // namespace

std::string doc_line(const std::string& name, const std::string& schema) {
  return "  /** " + title(name, schema) + " */\n";
}

std::string doc_block(const std::string& name, const Declaration& declaration, int self, const CallShape& shape,
                      const std::string& since) {
  std::vector<std::string> lines{title(name, declaration.schema)};
  for (size_t i = 0; i < declaration.arguments.size(); ++i) {
    const Argument& argument = declaration.arguments[i];
    if (!argument.out && static_cast<int>(i) != self) lines.push_back(parameter_line(argument));
  }
  for (const Parameter& parameter : shape.named) {
    if (parameter.name == "requiresGrad")
      lines.push_back(
          "@param options.requiresGrad - whether autograd records ops on the result; by name only. Default: false");
    if (parameter.name == "out")
      lines.push_back("@param options.out - receives the result, and is returned; by name only");
  }
  if (const std::string result = result_line(declaration); !result.empty()) lines.push_back(result);
  lines.push_back(errors_line(declaration));
  if (!since.empty()) lines.push_back("@since " + since);
  std::string text = "  /**\n";
  for (const std::string& line : lines) text += "   * " + line + "\n";
  return text + "   */\n";
}

}  // namespace codegen
