// TorchScript models: what lib/jit calls.
#include "native/internals/internals.h"
#include "native/models/call.h"
#include "native/models/token.h"

namespace ltn {
namespace {

// modelLoad(bytes, device): `bytes` is an archive that lib/jit has examined.
napi_value load(Call& call) {
  const at::Tensor& bytes = call.tensor(call.arguments[0], 0);
  const auto device = FromJs<c10::optional<c10::Device>>(call, 1).get();
  if (bytes.scalar_type() != c10::ScalarType::Byte || !bytes.is_cpu() || !bytes.is_contiguous()) {
    throw BadArgument(0, "contiguous bytes", describe_tensor(&bytes));
  }
  const auto model =
      models::Model::load(static_cast<const char*>(bytes.data_ptr()), static_cast<size_t>(bytes.numel()), device);
  return write_result(call, models::make_token(model));
}

// modelTo(model, device)
napi_value to(Call& call) {
  const auto model = models::read_model(call, call.arguments[0], 0);
  const c10::Device device = read_device(call, call.arguments[1], 1);
  try {
    model->to(device);
  } catch (...) {  // some of it is there by now, perhaps
    call.state.slots().reconcile_all();
    throw;
  }
  call.state.slots().reconcile_all();
  return nullptr;
}

// `title`: what errors call it.
constexpr Internal titled(Internal internal, const char* title) {
  internal.row.name = title;
  return internal;
}

// A method may leave its arguments larger than their memory.
constexpr Internal may_outgrow(Internal internal) {
  internal.row.mutated = OpRow::kMayOutgrow;
  return internal;
}

const Internal kInternals[] = {
    titled(internal_body<&load, 2>("modelLoad", "modelLoad(Bytes bytes, Device? device) -> ScriptModule"), "jit.load"),
    titled(may_outgrow(internal_body<&models::call_method, 3>(
               "modelCall", "modelCall(ScriptModule model, str method, Any[] values) -> Any[]")),
           "ScriptModule.call"),
    titled(internal_body<&to, 2>("modelTo", "modelTo(ScriptModule model, Device device) -> ()"), "ScriptModule.to"),
};

}  // namespace

InternalList model_internals() { return {kInternals, std::size(kInternals)}; }

}  // namespace ltn
