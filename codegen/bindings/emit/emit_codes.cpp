#include <string>
#include <utility>
#include <vector>

#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/emit/js_templates.h"
#include "codegen/bindings/text/js_text.h"
#include "codegen/common/template.h"
#include "codegen/model/flags.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

// `export const enum`: the compiler replaces the names by their values, so they cost nothing at run time.
std::string enum_text(const std::string& comment, const std::string& name, const Values& values) {
  std::string members;
  for (const auto& [member, value] : values) members += fill(js::kEnumMember, {{"name", member}, {"value", value}});
  return fill(js::kEnum, {{"comment", comment}, {"name", name}, {"members", members}});
}

template <size_t count>
Values numbers(const FlagName (&names)[count]) {
  Values values;
  for (const FlagName& each : names) values.emplace_back(each.name, std::to_string(each.value));
  return values;
}

Values letters() {
  Values values;
  const auto add = [&](const TypeRow& row) { values.emplace_back(row.name, js_string(std::string(1, row.code))); };
  for (const TypeRow& row : type_table()) add(row);
  add(kNumberTensor);
  return values;
}

Values plain_values() {
  Values values;
  for (const Plain plain : kPlains) {
    values.emplace_back(plain_name(plain), std::to_string(static_cast<int>(plain)));
  }
  return values;
}

}  // namespace

Files emit_codes() {
  const std::string enums =
      enum_text("The letter of each base type in signature codes.", "Kind", letters()) +
      enum_text("Which values of a type need no conversion.", "Plain", plain_values()) +
      enum_text("The words of `native.flags`.", "Flag", numbers(kFlagWords)) +
      enum_text("Where the doubles begin in `native.flagsBuffer`, in bytes.", "FlagOffset", numbers(kFlagOffsets)) +
      enum_text("Of lists that are passed in shared memory.", "Packing", numbers(kPackingValues)) +
      enum_text("Values of `flags[Flag.Collect]`.", "Collect", numbers(kCollectValues)) +
      enum_text("Values of `flags[Flag.Recording]`.", "RecordingMode", numbers(kRecordingValues));
  return {{"lib/generated/codes.d.ts", fill(js::kCodes, {{"enums", enums}})}};
}

}  // namespace codegen
