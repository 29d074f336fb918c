// Anomaly detection: lib/gradients/anomaly.ts.
#include "native/autograd/anomaly.h"

#include "native/internals/internals.h"

namespace ltn {
namespace {

using CallbackOwner = std::shared_ptr<autograd::Callback>;

// `place()` gives a text. What is returned owns the function: the environment
// that is asked no more lets go of it.
napi_value set_place(Call &call) {
  auto owner = std::make_unique<CallbackOwner>(std::make_shared<autograd::Callback>(call, call.arguments[0]));
  autograd::set_place(*owner);
  napi_value external = nullptr;
  const auto finalize = [](node_api_basic_env, void *data, void *) { delete static_cast<CallbackOwner *>(data); };
  check(call.env, napi_create_external(call.env, owner.get(), finalize, nullptr, &external));
  static_cast<void>(owner.release());  // the finalizer's
  return external;
}

std::vector<std::string> take_anomaly() {
  std::vector<std::string> texts;
  for (autograd::MadeAt &made : autograd::take_anomaly()) {
    texts.push_back(std::move(made.node));
    texts.push_back(std::move(made.place));
  }
  return texts;
}

bool is_enabled() { return autograd::is_anomaly_detection_enabled(); }
bool is_nan_checked() { return autograd::is_anomaly_nan_checked(); }

const Internal kInternals[] = {
    internal("anomalySet", "anomalySet(bool enabled, bool checkNan) -> ()", &autograd::set_anomaly_detection),
    internal("anomalyEnabled", "anomalyEnabled() -> bool", &is_enabled),
    internal("anomalyChecksNan", "anomalyChecksNan() -> bool", &is_nan_checked),
    internal_body<&set_place, 1>("anomalyPlace", "anomalyPlace(func place) -> external"),
    internal("anomalyTake", "anomalyTake() -> str[]", &take_anomaly),
};

}  // namespace

InternalList anomaly_internals() { return {kInternals, std::size(kInternals)}; }

}  // namespace ltn
