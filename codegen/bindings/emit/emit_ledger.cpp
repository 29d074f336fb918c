#include "codegen/bindings/emit/emit.h"
#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

// The op's names in JavaScript, besides torch.ops. A skipped op has none.
std::string reachable_as(const PlannedOp& op) {
  if (op.skipped) return "";
  std::string text;
  if (op.declaration->is_function && !is_hidden(op.space))
    text = "torch." + (op.space.empty() ? "" : op.space + ".") + op.space_name;
  if (op.self >= 0) text += (text.empty() ? "" : ", ") + ("Tensor." + op.js_name);
  return text;
}

}  // namespace

std::string release_of(const std::string& version) {
  const size_t minor = version.find('.');
  return version.substr(0, version.find('.', minor + 1));
}

std::string emit_ledger(const Plan& plan) {
  size_t generated = 0;
  size_t skipped = 0;
  std::string rows;
  for (const PlannedOp& op : plan.ops) {
    const std::string status = op.skipped ? "skipped" : "generated";
    ++(op.skipped ? skipped : generated);
    if (op.skipped && op.reason.empty()) {
      throw Error("exceptions.yaml", 0, op.declaration->full_name() + " lacks a reason", "a reason");
    }
    rows += op.declaration->schema + "\t" + status + "\t" + reachable_as(op) + "\t" + op.reason + "\n";
  }
  const size_t total = plan.model->declarations.size();
  if (generated + skipped != total) {
    throw Error(
        "ledger", 0,
        std::to_string(generated + skipped) + " of " + std::to_string(total) + " declarations are accounted for",
        "all of them");
  }
  return "# libtorch " + release_of(plan.model->libtorch_version) + ": " + std::to_string(total) +
         " declarations = " + std::to_string(generated) + " generated + " + std::to_string(skipped) +
         " skipped. Every one that is not skipped is also torch.ops.aten.<name>.<overload>.\n# "
         "schema\tstatus\treachable as\treason\n" +
         rows;
}

}  // namespace codegen
