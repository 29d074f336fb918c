// Anomaly detection: lib/autograd/anomaly.ts.
#include "native/autograd/anomaly.h"

#include "native/exports/exports.h"
#include "native/exports/owned_external.h"

namespace ltn {
namespace {

// `place()` returns a text. The returned value owns the function: the environment releases it when it is no longer
// called.
napi_value set_place(Call &call) {
  auto callback = std::make_shared<autograd::Callback>(call, call.arguments[0]);
  autograd::set_place(callback);
  return owned_external(call, std::move(callback));
}

std::vector<std::string> take_anomaly() {
  std::vector<std::string> texts;
  for (autograd::CreatedAt &made : autograd::take_anomaly()) {
    texts.push_back(std::move(made.node));
    texts.push_back(std::move(made.place));
  }
  return texts;
}

bool is_enabled() { return autograd::is_anomaly_detection_enabled(); }
bool is_nan_checked() { return autograd::is_anomaly_nan_checked(); }

const Export kAnomalyExports[] = {
    exported("anomalySet", "anomalySet(bool enabled, bool checkNan) -> ()", &autograd::set_anomaly_detection),
    exported("anomalyEnabled", "anomalyEnabled() -> bool", &is_enabled),
    exported("anomalyChecksNan", "anomalyChecksNan() -> bool", &is_nan_checked),
    exported_body<&set_place, 1>("anomalyPlace", "anomalyPlace(func place) -> external"),
    exported("anomalyTake", "anomalyTake() -> str[]", &take_anomaly),
};

}  // namespace

ExportList anomaly_exports() { return {kAnomalyExports, std::size(kAnomalyExports)}; }

}  // namespace ltn
