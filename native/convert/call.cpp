#include "native/convert/call.h"

#include <ATen/ScalarOps.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <string_view>

#include "native/accounting/cpu_allocator.h"
#include "native/async/engine_leftovers.h"
#include "native/async/sparse_members.h"
#include "native/async/strand.h"
#include "native/convert/call_error.h"
#include "native/convert/from_js.h"
#include "native/env/free_memory.h"
#include "native/handles/kept_shapes.h"

namespace ltn {
namespace {

// Whether the op writes to no existing tensor, so that it can be repeated. The library's own functions cannot.
bool can_be_repeated(const OpRow& row) noexcept {
  return row.mutated == 0 && std::string_view(row.name).substr(0, 6) == "aten::";
}

// Keeps the shapes of the tensors that the op may resize. (Lists of them, of a few `out` variants, are left out.)
void keep_shapes(Call& call, uint64_t resized, handles::KeptShapes* shapes) {
  for (size_t i = 0; i < call.count && resized >> i != 0; ++i) {
    double number = 0;
    if ((resized >> i & 1) == 0 || napi_get_value_double(call.env, call.arguments[i], &number) != napi_ok) continue;
    if (!(number > 0 && number < handles::kHandleEnd)) continue;
    const at::Tensor* tensor = call.state.slots().find(static_cast<handles::Handle>(number));
    if (tensor != nullptr) shapes->keep(*tensor);
  }
}

// On the CPU the allocator collects and retries. A full device fails at once, so here the op is retried.
napi_value run_once(Call& call, Body body) {
  try {
    return body(call);
  } catch (const accounting::ExhaustedError&) {  // the CPU's allocator has already retried
    throw;
  } catch (const c10::OutOfMemoryError&) {  // if nothing was freed, a second try would fail too
    if (!can_be_repeated(*call.row) || !free_unreachable(0)) throw;
  }
  return body(call);
}

napi_value run_body(Call& call, Body body) {
  const uint64_t resized = call.is_op ? call.row->resized() : 0;
  if (resized == 0) return run_once(call, body);
  handles::KeptShapes shapes;
  keep_shapes(call, resized, &shapes);
  try {
    return run_once(call, body);
  } catch (...) {
    shapes.restore();
    throw;
  }
}

// Refuses tensors that the op left larger than their memory. `is_error`: the op itself did not fail.
void refuse_outgrown(Call& call, bool is_error) {
  bool any = false;
  for (const handles::Handle handle : call.mutated) any |= call.state.slots().empty_if_outgrown(handle);
  if (any && is_error) {
    throw CodedError("ERR_TORCH_RUNTIME", "the storage is smaller than the tensor's shape; the tensor is empty now");
  }
}

// The number passed in place of a tensor, or nothing if `value` is something else.
c10::optional<at::Scalar> read_number(Call& call, napi_value value, size_t index, double code) {
  constexpr double kRoom = sizeof(handles::Flags::ints) / sizeof(double);
  const double at = -code - 1.5;  // written by numberTensor in lib/call/packed.ts
  if (at >= 0 && at < kRoom && std::trunc(at) == at) {
    return scalar_of(call, call.state.flags().ints[static_cast<size_t>(at)]);
  }
  bool is_array = false;
  check(call.env, napi_is_array(call.env, value, &is_array));
  if (!is_array) return c10::nullopt;
  napi_value element = nullptr;
  check(call.env, napi_get_element(call.env, value, 0, &element));
  return read_scalar(call, element, index);
}

}  // namespace

void Call::refuse_output(size_t index) {
  throw BadArgument(index, "a tensor with memory of its own", "zeros without memory");
}

void Call::refuse_wrong_members(const at::Tensor& tensor, size_t index) const {
  if (!has_members(tensor) || takes_any_members(*row)) return;
  const std::string fault = fault_of_members(tensor);
  if (fault.empty()) return;
  throw BadArgument(index, c10::str("a sparse tensor with indices inside ", tensor.sizes()), fault);
}

at::Tensor& Call::number_tensor(napi_value value, size_t index, double code) {
  if (code <= async::kPending) throw PendingTensor(index);
  const auto number = read_number(*this, value, index, code);
  if (!number) throw BadArgument(index, expected_of(Base::Tensor), describe_value(env, value));
  numbers.push_front(c10::scalar_to_tensor(*number));
  numbers.front().unsafeGetTensorImpl()->set_wrapped_number(true);
  return numbers.front();
}

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
      result = run_body(call, body);
    } catch (...) {  // any exception: none may pass through a C frame
      error = current_error(env, &call);
      if ((call.row->mutated & OpRow::kWritesElsewhere) != 0) free_engine_leftovers();  // it ran a backward
    }
    try {
      call.state.slots().settle_used();
      for (const handles::Handle handle : call.mutated) call.state.slots().reconcile(handle);
      if ((call.row->mutated & OpRow::kWritesElsewhere) != 0) call.state.slots().reconcile_inner();
      if (error != nullptr || (call.row->mutated & OpRow::kMayOutgrow) != 0) refuse_outgrown(call, error == nullptr);
    } catch (...) {  // out of memory while charging, or outgrown
      error = current_error(env, &call);
    }
  }
  call.state.external().settle();
  const double handle = call.state.flags().result;
  const bool warned = call.state.warnings().deliver();
  call.state.flags().result = handle;  // JavaScript ran, and may have run ops itself
  if (warned) {                        // an exception of the sink must not stay pending: see throw_error()
    napi_value thrown = take_pending(env);
    if (error == nullptr) error = thrown;
  }
  if (error != nullptr) throw_error(env, error);
  return result;
}

}  // namespace ltn
