// TorchScript models: what lib/jit calls.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <unordered_map>

#include "native/errors/describe_tensor.h"
#include "native/exports/exports.h"
#include "native/models/archive_buffer.h"
#include "native/models/call.h"
#include "native/models/functions.h"
#include "native/models/package_call.h"
#include "native/models/token.h"

namespace ltn {
namespace {

// modelLoad(bytes, device): `bytes` is an archive that lib/jit has checked.
napi_value load(Call& call) {
  const at::Tensor& bytes = call.tensor(call.arguments[0], 0);
  const auto device = FromJs<c10::optional<c10::Device>>(call, 1).get();
  if (bytes.scalar_type() != c10::ScalarType::Byte || !bytes.is_cpu() || !bytes.is_contiguous()) {
    throw BadArgument(0, "contiguous bytes", describe_tensor(bytes));
  }
  models::MemoryArchive archive(static_cast<const char*>(bytes.data_ptr()), bytes.numel());
  return write_result(call, models::make_token(models::Model::load(archive, device)));
}

// modelLoadFile(fd, size, ranges, held, device): the same for an open file.
napi_value load_file(Call& call) {
  const int64_t fd = read_int(call, call.arguments[0], 0);
  const int64_t size = read_int(call, call.arguments[1], 1);
  const auto numbers = read_list<int64_t>(call, call.arguments[2], 2);
  const auto device = FromJs<c10::optional<c10::Device>>(call, 4).get();
  const Napi::Value bytes = argument(call, 3);
  if (!bytes.IsTypedArray()) throw BadArgument(3, "the bytes of the ranges", describe_value(call.env, bytes));
  const auto held = bytes.As<Napi::Uint8Array>();
  const size_t length = held.ElementLength();
  std::vector<models::FileArchive::Range> ranges;
  int64_t end = 0;
  int64_t sum = 0;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    if (numbers[i] < end || numbers[i + 1] < 0 || numbers[i + 1] > size - numbers[i]) {
      throw BadArgument(2, "ranges of the file, in order", "others");
    }
    ranges.push_back({numbers[i], numbers[i + 1]});
    end = numbers[i] + numbers[i + 1];
    sum += numbers[i + 1];
  }
  if (held.TypedArrayType() != napi_uint8_array || sum != static_cast<int64_t>(length)) {
    throw BadArgument(3, "the bytes of the ranges", std::to_string(length));
  }
  models::FileArchive archive(static_cast<int>(fd), size, ranges, reinterpret_cast<const char*>(held.Data()));
  return write_result(call, models::make_token(models::Model::load(archive, device)));
}

// modelTo(model, device)
napi_value to(Call& call) {
  const auto model = models::read_model(call, call.arguments[0], 0);
  const c10::Device device = read_device(call, call.arguments[1], 1);
  try {
    model->to(device);
  } catch (...) {  // part of it may have moved by now
    call.state.slots().reconcile_all();
    throw;
  }
  call.state.slots().reconcile_all();
  return nullptr;
}

// The strings of an array that lib/jit has checked.
std::vector<std::string> read_names(Call& call, size_t index) {
  const napi_value list = call.arguments[index];
  std::vector<std::string> names(list_length(call, list, index, "an array of strings"));
  for (uint32_t i = 0; i < names.size(); ++i) names[i] = read_string(call, list_element(call, list, i), index);
  return names;
}

// modelFreeze(model, preservedAttrs, optimizeNumerics)
napi_value freeze(Call& call) {
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  const auto preserved = read_names(call, 1);
  const bool optimize_numerics = read_bool(call, call.arguments[2], 2);
  return write_result(call, models::make_token(model->freeze(preserved, optimize_numerics)));
}

// modelOptimize(model, otherMethods)
napi_value optimize(Call& call) {
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  const auto other_methods = read_names(call, 1);
  return write_result(call, models::make_token(model->optimize_for_inference(other_methods)));
}

napi_value write_names(Call& call, const std::vector<std::string>& names) {
  const napi_value array = new_array(call, names.size());
  for (size_t i = 0; i < names.size(); ++i) set_element(call, array, i, write_string(call, names[i]));
  return array;
}

// The name of each tensor, and its place in `each_once(named)`.
void write_places(Call& call, const models::Model::Named& named, napi_value array, size_t at) {
  std::vector<std::string> names;
  std::unordered_map<const c10::TensorImpl*, int64_t> places;
  const napi_value list = new_array(call, named.size());
  for (const auto& [name, tensor] : named) {
    const auto next = static_cast<int64_t>(places.size());
    const int64_t place = places.emplace(tensor.unsafeGetTensorImpl(), next).first->second;
    set_element(call, list, names.size(), write_int(call, place));
    names.push_back(name);
  }
  set_element(call, array, at, write_names(call, names));
  set_element(call, array, at + 1, list);
}

// modelTree(model): names and classes of its parts; names of all parameters and their places in `parameters`; buffers.
napi_value tree(Call& call) {
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  std::vector<std::string> names;
  std::vector<std::string> classes;
  for (auto& [name, type] : model->part_names()) {
    names.push_back(std::move(name));
    classes.push_back(std::move(type));
  }
  const napi_value array = new_array(call, 6);
  set_element(call, array, 0, write_names(call, names));
  set_element(call, array, 1, write_names(call, classes));
  write_places(call, model->parameters(), array, 2);
  write_places(call, model->buffers(), array, 4);
  return array;
}

// modelChanges(model)
napi_value changes(Call& call) { return write_int(call, models::read_model(call, call.arguments[0], 0)->changes()); }

// modelReplaced(model, known): `known` are the handles of all parameters, then all buffers, by all their names. Returns
// the places of those for which the model has another tensor, every place if their number differs; nothing while a call
// changes the model.
napi_value replaced(Call& call) {
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  const auto now = model->try_tensors();
  if (!now.has_value()) return nullptr;
  std::vector<int64_t> places;
  size_t place = 0;
  const auto known = peek_tensors(call, call.arguments[1], [&](const at::Tensor* tensor) {
    // A tensor that the program has disposed of stays so.
    const bool is_same = place < now->size() && (tensor == nullptr || tensor->is_same((*now)[place].second));
    if (!is_same) places.push_back(static_cast<int64_t>(place));
    ++place;
  });
  if (known != now->size()) {
    places.resize(std::max(now->size(), known.value_or(0)));
    std::iota(places.begin(), places.end(), 0);
  }
  return to_js(call, std::move(places));
}

// modelTrainPart(model, place, mode)
napi_value train_part(Call& call) {
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  model->train_part(static_cast<size_t>(read_int(call, call.arguments[1], 1)), read_bool(call, call.arguments[2], 2));
  return nullptr;
}

// modelIsPartTraining(model, place)
napi_value is_part_training(Call& call) {
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  return write_bool(call, model->is_part_training(static_cast<size_t>(read_int(call, call.arguments[1], 1))));
}

// modelCopy(model)
napi_value copy(Call& call) {
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  return write_result(call, models::make_token(model->copy()));
}

// modelSave(model, descriptor): appends the archive to the file. Returns the errno of the write that failed, or 0.
napi_value save(Call& call) {
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  const std::shared_ptr<models::Model> model = models::read_model(call, call.arguments[0], 0);
  const auto descriptor = static_cast<int>(read_int(call, call.arguments[1], 1));
  int error = 0;  // libtorch's writer must not see it: its destructor would end the process
  model->save([&](const char* bytes, size_t count) {
    while (error == 0 && count > 0) {
      const ssize_t put = write(descriptor, bytes, std::min(count, kMaxWrite));
      if (put < 0 && errno != EINTR) error = errno;
      if (put == 0) error = EIO;
      if (put <= 0) continue;
      bytes += put;
      count -= static_cast<size_t>(put);
    }
  });
  return write_int(call, error);
}

bool has_packages() { return models::Package::is_supported(); }

// packageLoad(folder, library, weights, device, keepFolder, runners, bytes, forms): `bytes` is the unpacked size.
napi_value load_package(Call& call) {
  models::PackageFiles files;
  std::string* const texts[] = {&files.folder, &files.library, &files.weights, &files.device};
  for (size_t i = 0; i < 4; ++i) *texts[i] = read_string(call, call.arguments[i], i);
  files.keep_folder = read_bool(call, call.arguments[4], 4);
  const int64_t runners = read_int(call, call.arguments[5], 5);
  const int64_t bytes = read_int(call, call.arguments[6], 6);
  models::InputForms forms = models::read_input_forms(call, call.arguments[7], 7);
  auto package = models::Package::load(files, static_cast<size_t>(runners), std::move(forms));
  const uint64_t held = static_cast<uint64_t>(bytes) + package->weight_bytes();
  return write_result(call, at::detail::make_tensor<models::PackageToken>(std::move(package), held));
}

// packageTrees(package): the trees of the arguments and of the result, and the number of tensors in each.
napi_value package_trees(Call& call) {
  const auto package = models::read_package(call, call.arguments[0], 0);
  const napi_value array = new_array(call, 4);
  set_element(call, array, 0, write_string(call, package->arguments_tree()));
  set_element(call, array, 1, write_string(call, package->result_tree()));
  set_element(call, array, 2, write_int(call, static_cast<int64_t>(package->inputs())));
  set_element(call, array, 3, write_int(call, static_cast<int64_t>(package->outputs())));
  return array;
}

// `title`: its name in errors.
constexpr Export titled(Export made, const char* title) {
  made.row.name = title;
  return made;
}

const Export kModelExports[] = {
    titled(exported_body<&load, 2>("modelLoad", "modelLoad(Bytes bytes, Device? device) -> ScriptModule"), "jit.load"),
    titled(exported_body<&load_file, 5>(
               "modelLoadFile",
               "modelLoadFile(int fd, int size, int[] ranges, Bytes held, Device? device) -> ScriptModule"),
           "jit.load"),
    titled(may_outgrow(exported_body<&models::call_method, 3>(
               "modelCall", "modelCall(ScriptModule model, str method, Any[] values) -> Any[]")),
           "ScriptModule.call"),
    titled(exported_body<&to, 2>("modelTo", "modelTo(ScriptModule model, Device device) -> ()"), "ScriptModule.to"),
    titled(exported_body<&freeze, 3>(
               "modelFreeze",
               "modelFreeze(ScriptModule model, str[] preservedAttrs, bool optimizeNumerics) -> ScriptModule"),
           "jit.freeze"),
    titled(exported_body<&optimize, 2>("modelOptimize",
                                       "modelOptimize(ScriptModule model, str[] otherMethods) -> ScriptModule"),
           "jit.optimizeForInference"),
    titled(exported_body<&tree, 1>("modelTree", "modelTree(ScriptModule model) -> Any[]"), "ScriptModule"),
    titled(exported_body<&changes, 1>("modelChanges", "modelChanges(ScriptModule model) -> int"), "ScriptModule"),
    titled(exported_body<&replaced, 2>("modelReplaced", "modelReplaced(ScriptModule model, int[] known) -> int[]?"),
           "ScriptModule"),
    titled(exported_body<&train_part, 3>("modelTrainPart",
                                         "modelTrainPart(ScriptModule model, int place, bool mode) -> ()"),
           "ScriptModule.train"),
    titled(exported_body<&is_part_training, 2>("modelIsPartTraining",
                                               "modelIsPartTraining(ScriptModule model, int place) -> bool"),
           "ScriptModule.isTraining"),
    titled(exported_body<&copy, 1>("modelCopy", "modelCopy(ScriptModule model) -> ScriptModule"),
           "ScriptModule.deepCopy"),
    titled(exported_body<&save, 2>("modelSave", "modelSave(ScriptModule model, int descriptor) -> int"),
           "ScriptModule.save"),
    exported("hasPackages", "hasPackages() -> bool", &has_packages),
    titled(exported_body<&load_package, 8>("packageLoad",
                                           "packageLoad(str folder, str library, str weights, str device, bool "
                                           "keep_folder, int runners, int bytes, int[] forms) -> AotiPackage"),
           "inductor.aotiLoadPackage"),
    exported_body<&package_trees, 1>("packageTrees", "packageTrees(AotiPackage package) -> Any[]"),
    titled(exported_body<&models::call_package, 3>(
               "packageCall", "packageCall(AotiPackage package, Tensor[] inputs, bool single) -> Any[]"),
           "AotiPackage.forward"),
};

}  // namespace

ExportList model_exports() { return {kModelExports, std::size(kModelExports)}; }

}  // namespace ltn
