#include "native/convert/call.h"

namespace ltn {

napi_value run_guarded(napi_env env, napi_callback_info info, napi_value* arguments, size_t count, Body body) noexcept {
  void* data = nullptr;
  size_t given = count;
  if (napi_get_cb_info(env, info, &given, arguments, nullptr, &data) != napi_ok) return nullptr;
  const auto& op = *static_cast<const BoundOp*>(data);
  Call call(env, op, arguments, count, given);
  napi_value result = nullptr;
  napi_value error = nullptr;
  {
    const handles::SlotTable::Busy busy(call.state.slots());
    call.state.warnings().install();
    try {
      result = body(call);
    } catch (...) {  // everything: nothing may pass through a C frame
      error = current_error(env, &call);
    }
    try {
      call.state.slots().settle_used();
      for (const handles::Handle handle : call.mutated) call.state.slots().reconcile(handle);
      if ((call.row->mutated & OpRow::kWritesElsewhere) != 0) call.state.slots().reconcile_inner();
    } catch (...) {  // out of memory while charging
      error = current_error(env, &call);
    }
  }
  call.state.external().settle();
  const bool warned = call.state.warnings().deliver();
  if (warned && error == nullptr) error = take_pending(env);
  if (error != nullptr) throw_error(env, error);
  return result;
}

}  // namespace ltn
