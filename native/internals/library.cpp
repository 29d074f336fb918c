// Settings of the library as a whole.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/api/include/torch/version.h>

#include "native/convert/dtypes.h"
#include "native/internals/internals.h"

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
  if (!c10::isFloatingType(dtype)) throw BadArgument(0, "a floating-point dtype", dtype_name(dtype));
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
}
std::string version() { return TORCH_VERSION; }
std::string config() { return at::show_config(); }

napi_value set_warning_sink(Call& call) {
  call.state.warnings().set_sink(call.arguments[0]);
  return nullptr;
}

// { dtypes, layouts, memoryFormats, qschemes }: names by enum value; "" where a value is no name of its own.
napi_value enums(Call& call) {
  napi_value result = nullptr;
  check(call.env, napi_create_object(call.env, &result));
  const auto set_list = [&](const char* name, int64_t count, auto name_of) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) names.push_back(name_of(i));
    check(call.env, napi_set_named_property(call.env, result, name, to_js(call, std::move(names))));
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

const Internal kInternals[] = {
    internal("manualSeed", "manualSeed(int seed) -> ()", &manual_seed),
    internal("getNumThreads", "getNumThreads() -> int", &get_num_threads),
    internal("setNumThreads", "setNumThreads(int count) -> ()", &set_num_threads),
    internal("getDefaultDtype", "getDefaultDtype() -> ScalarType", &default_dtype),
    internal("setDefaultDtype", "setDefaultDtype(ScalarType dtype) -> ()", &set_default_dtype),
    internal_body<&set_warning_sink, 1>("setWarningSink", "setWarningSink(function sink) -> ()"),
    internal("version", "version() -> str", &version),
    internal("config", "config() -> str", &config),
    internal_body<&enums, 0>("enums", "enums() -> object"),
};

}  // namespace

InternalList library_internals() { return {kInternals, std::size(kInternals)}; }

}  // namespace ltn
