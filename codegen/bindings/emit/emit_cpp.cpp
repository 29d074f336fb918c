#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/guards.h"
#include "codegen/common/output.h"

namespace codegen {
namespace {

constexpr size_t kShards = 4;

// FNV-1a: the same on every machine, so that ops stay in their shards.
uint64_t stable_hash(const std::string& text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

// Ops that share a signature share a shard, so each invoker is compiled once.
std::string signature_key(const Declaration& declaration) {
  std::string key;
  for (const Argument& argument : declaration.arguments) {
    key += std::to_string(static_cast<int>(argument.type.base)) + (argument.type.list ? "l" : "") +
           (argument.type.nullable ? "n" : "") + (argument.type.element_nullable ? "e" : "") +
           (argument.mutated ? "m" : "") + ",";
  }
  key += ">";
  for (const Return& result : declaration.returns) {
    key += std::to_string(static_cast<int>(result.type.base)) + (result.type.list ? "l" : "") + ",";
  }
  return key;
}

std::string mutated_mask(const Declaration& declaration) {
  // The engine accumulates into the grads of leaves, which are not arguments: OpRow::kWritesElsewhere.
  uint64_t mask = declaration.name == "_backward" ? uint64_t{1} << 63 : 0;
  if (declaration.name == "set_") mask |= uint64_t{1} << 62;  // OpRow::kMayOutgrow
  for (size_t i = 0; i < declaration.arguments.size(); ++i) {
    if (declaration.arguments[i].mutated) mask |= uint64_t{1} << i;
  }
  return std::to_string(mask) + "u";
}

bool takes_tensor(const Declaration& declaration) {
  return std::any_of(declaration.arguments.begin(), declaration.arguments.end(),
                     [](const Argument& argument) { return argument.type.base == Base::Tensor; });
}

// Whether the row has OpRow::redispatch. Not that of autograd's engine (_backward), which is not an op of the
// dispatcher, and not those with an `out`: they are called less often, and each address in a row is a relocation when
// the addon is loaded.
bool may_go_below_autograd(const Declaration& declaration) {
  const std::string mask = mutated_mask(declaration);
  return takes_tensor(declaration) && (mask == "0u" || mask == "1u");
}

std::string op_row(const Declaration& declaration, bool guarded) {
  const std::string op = "at::_ops::" + declaration.cpp_struct();
  const std::string guard = "Guarded<&" + op + "::call, " + guard_name(declaration) + ">";
  const std::string check = guarded ? "&" + guard + "::check_boxed" : "nullptr";
  const std::string redispatch = guarded ? guard + "::below<&" + op + "::redispatch>" : op + "::redispatch";
  return "    {\"aten::" + declaration.full_name() + "\", " + op + "::schema_str, &Invoker<" + op +
         "::schema>::call,\n     reinterpret_cast<AnyFunction>(&" + (guarded ? guard : op) + "::call), " +
         mutated_mask(declaration) +
         (may_go_below_autograd(declaration)
              ? ",\n     " + check + ", reinterpret_cast<AnyFunction>(&" + redispatch + ")"
          : guarded ? ",\n     " + check
                    : "") +
         "},\n";
}

}  // namespace

Files emit_cpp(const Plan& plan) {
  struct Shard {
    std::set<std::string> headers;
    std::string guards;
    std::string rows;
    size_t count = 0;
  };
  std::array<Shard, kShards> shards;
  std::vector<std::string> table(static_cast<size_t>(plan.row_count));
  for (const PlannedOp& op : plan.ops) {
    if (op.number < 0) continue;
    const size_t number = stable_hash(signature_key(*op.declaration)) % kShards;
    Shard& shard = shards[number];
    shard.headers.insert(op.declaration->ops_header);
    const auto guard = plan.spec->guards.find(op.declaration->full_name());
    const bool guarded = guard != plan.spec->guards.end();
    if (guarded) shard.guards += guard_struct(*op.declaration, guard->second);
    shard.rows += op_row(*op.declaration, guarded);
    table[static_cast<size_t>(op.number)] =
        "&shard_" + std::to_string(number) + "[" + std::to_string(shard.count++) + "]";
  }

  Files files;
  std::string externs;
  for (size_t i = 0; i < kShards; ++i) {
    const std::string name = "shard_" + std::to_string(i);
    const bool guarded = !shards[i].guards.empty();
    std::string text = std::string(kGeneratedHeader) + (guarded ? "#include \"native/ops/guarded.h\"\n" : "") +
                       "#include \"native/ops/invoke.h\"\n\n";
    for (const std::string& header : shards[i].headers) text += "#include <ATen/ops/" + header + ">\n";
    if (guarded)
      text += "\nnamespace ltn {\nnamespace {\n\n" + shards[i].guards + "\n}  // namespace\n}  // namespace ltn\n";
    text +=
        "\nnamespace ltn {\n\nextern const OpRow " + name + "[];\nconst OpRow " + name + "[] = {\n" + shards[i].rows;
    text += "    {nullptr, nullptr, nullptr, nullptr, 0},\n};\n\n}  // namespace ltn\n";
    files["native/generated/" + name + ".cpp"] = text;
    externs += "extern const OpRow " + name + "[];\n";
  }

  std::string classes = std::string(kGeneratedHeader) + "#include \"native/ops/invoke.h\"\n\n";
  std::string class_rows;
  size_t class_count = 0;
  for (const PlannedClass& planned : plan.classes) {
    classes += "#include \"" + planned.spec->header + "\"\n";
    for (size_t i = 0; i < planned.numbers.size(); ++i) {
      const ClassFunction& function = planned.spec->functions[i];
      const std::string& schema = function.declaration.schema;
      class_rows += "    {\"" + planned.spec->name + "::" + function.declaration.name + "\", \"" +
                    schema.substr(schema.find("::") + 2) + "\",\n     &Invoker<decltype(" + function.cpp +
                    ")>::call, reinterpret_cast<AnyFunction>(&" + function.cpp + "), 0},\n";
      table[static_cast<size_t>(planned.numbers[i])] = "&class_rows[" + std::to_string(class_count++) + "]";
    }
  }
  classes += "\nnamespace ltn {\n\nextern const OpRow class_rows[];\nconst OpRow class_rows[] = {\n" + class_rows +
             "    {nullptr, nullptr, nullptr, nullptr, 0},\n};\n\n}  // namespace ltn\n";
  files["native/generated/classes.cpp"] = classes;

  std::string index = std::string(kGeneratedHeader) + "#include \"native/schema/op_table.h\"\n\nnamespace ltn {\n\n" +
                      externs + "extern const OpRow class_rows[];\n\nconst OpRow* const op_rows[] = {\n";
  for (const std::string& row : table) index += "    " + row + ",\n";
  index += "};\n\nconst size_t op_count = " + std::to_string(plan.row_count) + ";\n\n}  // namespace ltn\n";
  files["native/generated/op_table.cpp"] = index;
  return files;
}

}  // namespace codegen
