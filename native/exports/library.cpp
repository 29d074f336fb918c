// Settings of the library as a whole.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/api/include/torch/version.h>

#include "native/classes/generator.h"
#include "native/exports/exports.h"
#include "native/schema/dtypes.h"

namespace ltn {
namespace {

void manual_seed(int64_t seed) { at::manual_seed(static_cast<uint64_t>(seed)); }
int64_t get_num_threads() { return at::get_num_threads(); }
void set_num_threads(int64_t count) {
  if (count < 1 || count > INT32_MAX) throw BadArgument(0, "a positive number of threads", std::to_string(count));
  at::set_num_threads(static_cast<int>(count));
}
c10::ScalarType default_dtype() { return c10::get_default_dtype_as_scalartype(); }
void set_default_dtype(c10::ScalarType dtype) {
  if (!c10::isFloatingType(dtype)) throw BadArgument(0, "a floating-point dtype", "'" + dtype_name(dtype) + "'");
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
}

const at::Generator& default_generator() { return at::globalContext().defaultGenerator(c10::kCPU); }
int64_t initial_seed() { return generator_initial_seed(default_generator()); }
int64_t seed() {
  const int64_t chosen = generator_seed(default_generator());
  at::manual_seed(static_cast<uint64_t>(chosen));  // seeds every device
  return chosen;
}
at::Tensor rng_state() { return generator_get_state(default_generator()); }
void set_rng_state(at::Tensor state) { generator_set_state(default_generator(), std::move(state)); }

int64_t get_num_interop_threads() { return at::get_num_interop_threads(); }
void set_num_interop_threads(int64_t count) {
  if (count < 1 || count > INT32_MAX) throw BadArgument(0, "a positive number of threads", std::to_string(count));
  at::set_num_interop_threads(static_cast<int>(count));
}
void set_deterministic(bool mode, bool warn_only) { at::globalContext().setDeterministicAlgorithms(mode, warn_only); }
bool is_deterministic() { return at::globalContext().deterministicAlgorithms(); }
bool is_deterministic_warn_only() { return at::globalContext().deterministicAlgorithmsWarnOnly(); }
bool set_flush_denormal(bool mode) { return at::globalContext().setFlushDenormal(mode); }
int64_t matmul_precision() { return static_cast<int64_t>(at::globalContext().float32MatmulPrecision()); }
void set_matmul_precision(c10::string_view precision) {
  at::globalContext().setFloat32MatmulPrecision(std::string(precision.data(), precision.size()));
}

std::string version() { return TORCH_VERSION; }
std::string config() { return at::show_config(); }

napi_value set_warning_sink(Call& call) {
  call.state.warnings().set_sink(call.arguments[0]);
  return nullptr;
}

// { dtypes, layouts, memoryFormats, qschemes }: names by enum value; "" for a value without its own name.
napi_value enums(Call& call) {
  Napi::Object result = Napi::Object::New(call.env);
  const auto set_list = [&](const char* name, int64_t count, auto name_of) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) names.push_back(name_of(i));
    result.Set(name, to_js(call, std::move(names)));
  };
  set_list("dtypes", static_cast<int64_t>(c10::ScalarType::NumOptions), [](int64_t i) {
    const auto type = static_cast<c10::ScalarType>(i);
    return type == c10::ScalarType::Undefined ? std::string() : dtype_name(type);
  });
  set_list("layouts", static_cast<int64_t>(c10::Layout::NumOptions),
           [](int64_t i) { return layout_name(static_cast<c10::Layout>(i)); });
  set_list("memoryFormats", static_cast<int64_t>(c10::MemoryFormat::ChannelsLast3d) + 1,
           [](int64_t i) { return memory_format_name(static_cast<c10::MemoryFormat>(i)); });
  return result;
}

const Export kLibraryExports[] = {
    exported("manualSeed", "manualSeed(int seed) -> ()", &manual_seed),
    exported("getNumThreads", "getNumThreads() -> int", &get_num_threads),
    exported("setNumThreads", "setNumThreads(int count) -> ()", &set_num_threads),
    exported("getDefaultDtype", "getDefaultDtype() -> ScalarType", &default_dtype),
    exported("setDefaultDtype", "setDefaultDtype(ScalarType dtype) -> ()", &set_default_dtype),
    exported("initialSeed", "initialSeed() -> int", &initial_seed),
    exported("seed", "seed() -> int", &seed),
    exported("rngState", "rngState() -> Tensor", &rng_state),
    exported("setRngState", "setRngState(Tensor state) -> ()", &set_rng_state),
    exported("getNumInteropThreads", "getNumInteropThreads() -> int", &get_num_interop_threads),
    exported("setNumInteropThreads", "setNumInteropThreads(int count) -> ()", &set_num_interop_threads),
    exported("setDeterministic", "setDeterministic(bool mode, bool warnOnly) -> ()", &set_deterministic),
    exported("isDeterministic", "isDeterministic() -> bool", &is_deterministic),
    exported("isDeterministicWarnOnly", "isDeterministicWarnOnly() -> bool", &is_deterministic_warn_only),
    exported("setFlushDenormal", "setFlushDenormal(bool mode) -> bool", &set_flush_denormal),
    exported("matmulPrecision", "matmulPrecision() -> int", &matmul_precision),
    exported("setMatmulPrecision", "setMatmulPrecision(str precision) -> ()", &set_matmul_precision),
    exported_body<&set_warning_sink, 1>("setWarningSink", "setWarningSink(function sink) -> ()"),
    exported("version", "version() -> str", &version),
    exported("config", "config() -> str", &config),
    exported_body<&enums, 0>("enums", "enums() -> object"),
};

}  // namespace

ExportList library_exports() { return {kLibraryExports, std::size(kLibraryExports)}; }

}  // namespace ltn
