// Autocast: lib/autograd/autocast.ts decides where it is on; this sets libtorch's modes of the thread.
#include "native/async/modes.h"
#include "native/exports/exports.h"

namespace ltn {
namespace {

using async::AutocastModes;

// The modes of a region, for all devices at once: what encloses it is part of them.
void set_autocast(bool cpu, c10::ScalarType cpu_dtype, bool cuda, c10::ScalarType cuda_dtype, bool caches) {
  const AutocastModes modes{{{{cpu, cpu_dtype}, {cuda, cuda_dtype}}}, caches};
  modes.set();
}

void clear_autocast_cache() { async::clear_autocast_cache(); }

// Of the CPU, or of CUDA.
c10::DeviceType device_of(bool cuda) { return cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU; }
bool autocast_enabled(bool cuda) { return async::autocast_enabled(device_of(cuda)); }
c10::ScalarType autocast_dtype(bool cuda) { return async::autocast_dtype(device_of(cuda)); }
bool autocast_has_half() { return async::kAutocastHasHalf; }
bool autocast_caches() { return AutocastModes::now().caches; }

const Export kAutocastExports[] = {
    exported("autocastSet",
             "autocastSet(bool cpu, ScalarType cpuDtype, bool cuda, ScalarType cudaDtype, bool caches) -> ()",
             &set_autocast),
    exported("autocastClearCache", "autocastClearCache() -> ()", &clear_autocast_cache),
    exported("autocastEnabled", "autocastEnabled(bool cuda) -> bool", &autocast_enabled),
    exported("autocastDtype", "autocastDtype(bool cuda) -> ScalarType", &autocast_dtype),
    exported("autocastHasHalf", "autocastHasHalf() -> bool", &autocast_has_half),
    exported("autocastCaches", "autocastCaches() -> bool", &autocast_caches),
};

}  // namespace

ExportList autocast_exports() { return {kAutocastExports, std::size(kAutocastExports)}; }

}  // namespace ltn
