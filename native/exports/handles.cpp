// Handles, guards and scopes, for lib/tensor/tensor.ts and lib/lifetimes.
#include "native/convert/id_number.h"
#include "native/exports/exports.h"

namespace ltn {
namespace {

uint64_t read_id(Call& call, size_t index) {
  const double number = id_number(call, index);
  if (!(number >= 0 && number < handles::kHandleEnd)) {
    throw BadArgument(index, "a handle or scope id", describe_value(call.env, call.arguments[index]));
  }
  return static_cast<uint64_t>(number);
}

napi_value guard(Call& call) {
  const napi_value made = call.state.make_guard(read_id(call, 0));
  if (made == nullptr) {
    throw CodedError("ERR_TORCH_INTERNAL", "expected a JavaScript object for the result, got none from Node-API");
  }
  return made;
}
napi_value guards(Call& call) { return write_double(call, static_cast<double>(call.state.guards())); }
napi_value free_generator(Call& call) { return write_bool(call, call.state.generators().free(read_id(call, 0))); }
napi_value is_live_generator(Call& call) {
  return write_bool(call, call.state.generators().find(read_id(call, 0)) != nullptr);
}
napi_value free(Call& call) { return write_bool(call, call.state.slots().free(read_id(call, 0))); }
napi_value is_live(Call& call) { return write_bool(call, call.state.slots().find(read_id(call, 0)) != nullptr); }
napi_value scope_open(Call& call) { return write_double(call, static_cast<double>(call.state.slots().open_scope())); }
napi_value scope_close(Call& call) { return write_bool(call, call.state.slots().close_scope(read_id(call, 0))); }
napi_value scope_enter(Call& call) {
  call.state.slots().enter_scope(read_id(call, 0));
  return nullptr;
}
napi_value scope_current(Call& call) {
  return write_double(call, static_cast<double>(call.state.slots().current_scope()));
}
napi_value scope_is_open(Call& call) { return write_bool(call, call.state.slots().is_open(read_id(call, 0))); }
napi_value scope_parent(Call& call) {
  return write_double(call, static_cast<double>(call.state.slots().parent_of(read_id(call, 0))));
}
napi_value scope_reparent(Call& call) {
  return write_bool(call, call.state.slots().reparent(read_id(call, 0), read_id(call, 1)));
}
napi_value scope_of(Call& call) {
  return write_double(call, static_cast<double>(call.state.slots().scope_of(read_id(call, 0))));
}
napi_value scope_move(Call& call) {
  return write_bool(call, call.state.slots().move(read_id(call, 0), read_id(call, 1)));
}

const Export kHandleExports[] = {
    exported_body<&guard, 1>("guard", "guard(int handle) -> external"),
    exported_body<&guards, 0>("guards", "guards() -> int"),
    exported_body<&free_generator, 1>("freeGenerator", "freeGenerator(int handle) -> bool"),
    exported_body<&is_live_generator, 1>("isLiveGenerator", "isLiveGenerator(int handle) -> bool"),
    exported_body<&free, 1>("free", "free(int handle) -> bool"),
    exported_body<&is_live, 1>("isLive", "isLive(int handle) -> bool"),
    exported_body<&scope_open, 0>("scopeOpen", "scopeOpen() -> int"),
    exported_body<&scope_close, 1>("scopeClose", "scopeClose(int scope) -> bool"),
    exported_body<&scope_enter, 1>("scopeEnter", "scopeEnter(int scope) -> ()"),
    exported_body<&scope_current, 0>("scopeCurrent", "scopeCurrent() -> int"),
    exported_body<&scope_is_open, 1>("scopeIsOpen", "scopeIsOpen(int scope) -> bool"),
    exported_body<&scope_parent, 1>("scopeParent", "scopeParent(int scope) -> int"),
    exported_body<&scope_reparent, 2>("scopeReparent", "scopeReparent(int scope, int parent) -> bool"),
    exported_body<&scope_of, 1>("scopeOf", "scopeOf(int handle) -> int"),
    exported_body<&scope_move, 2>("scopeMove", "scopeMove(int handle, int scope) -> bool"),
};

}  // namespace

ExportList handle_exports() { return {kHandleExports, std::size(kHandleExports)}; }

}  // namespace ltn
