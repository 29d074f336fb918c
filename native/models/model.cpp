#include "native/models/model.h"

#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <istream>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "native/async/engine_leftovers.h"
#include "native/errors/callback_error.h"
#include "native/errors/errors.h"
#include "native/handles/slot_table.h"
#include "native/models/archive_buffer.h"
#include "native/models/reachable.h"
#include "native/models/replaced_ops.h"
#include "native/models/script_error.h"
#include "native/models/training.h"

namespace ltn::models {
namespace {

torch::jit::Module read_module(ArchiveBuffer& archive, c10::optional<c10::Device> device) {
  torch::jit::Module module;
  run_or_refuse("libtorch cannot load it", [&] {
    std::istream stream(&archive);
    replace_ops();
    module = torch::jit::load(stream, device);
  });
  return module;
}

// "MLP" of "__torch__.models.MLP".
std::string class_name(const torch::jit::Module& module) {
  const auto name = module.type()->name();
  return name.has_value() ? name->name() : std::string("ScriptModule");
}

std::string schema_text(const std::string& name, const c10::FunctionSchema& schema) {
  std::string text;
  const auto& arguments = schema.arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    text += (i == 1 ? "" : ", ") + arguments[i].type()->str() + " " + arguments[i].name();
    if (arguments[i].default_value().has_value()) text += "?";
  }
  std::string result;
  for (const c10::Argument& argument : schema.returns()) {
    result += (result.empty() ? "" : ", ") + argument.type()->str();
  }
  return name + "(" + text + ") -> " + (result.empty() ? "None" : result);
}

}  // namespace

std::shared_ptr<Model> Model::load(ArchiveBuffer& archive, c10::optional<c10::Device> device) {
  torch::jit::Module module = read_module(archive, device);
  auto code = std::make_shared<const Code>(Code::of_loaded(module));
  return std::shared_ptr<Model>(new Model(std::move(module), std::move(code)));
}

Model::Model(torch::jit::Module module, std::shared_ptr<const Code> code)
    : module_(std::move(module)), code_(std::move(code)) {
  const std::string type = class_name(module_);
  for (const torch::jit::Method& found : module_.get_methods()) {
    auto method = std::make_unique<Method>();
    method->function = &found.function();
    method->name = found.name();
    method->title = type + "." + method->name;
    method->schema = schema_text(method->name, method->function->getSchema());
    method->row = {method->title.c_str(), method->schema.c_str(), nullptr, nullptr, 0};
    method->writes = writes_of(*method->function);
    methods_.push_back(std::move(method));
  }
  for (const auto& found : module_.named_modules()) parts_.emplace_back(found.name, found.value);
  update_training();
}

const Method& Model::method(const std::string& name) const {
  std::string known;
  for (const auto& method : methods_) {
    if (method->name == name) return *method;
    known += (known.empty() ? "" : ", ") + method->name;
  }
  throw BadArgument(1, known.empty() ? "a method, but this model has none" : "one of its methods (" + known + ")",
                    "'" + name + "'");
}

c10::IValue Model::run(const Method& method, torch::jit::Stack arguments, bool* wrote) {
  std::shared_lock<ModelMutex> shared(mutex_, std::defer_lock);
  std::unique_lock<ModelMutex> alone(mutex_, std::defer_lock);
  shared.lock();
  *wrote = may_write(method);
  if (*wrote) {
    shared.unlock();
    alone.lock();
  }
  // Arguments may be written to, and must not stay larger than their memory after a failed resize.
  const torch::jit::Stack given = *wrote ? arguments : torch::jit::Stack();
  const auto end = [&] {
    if (!*wrote) return;
    for_each_tensor(module_._ivalue(), [](const at::Tensor& tensor) { handles::empty_if_outgrown(tensor); });
    for (const c10::IValue& value : given) {
      for_each_tensor(value, [](const at::Tensor& tensor) { handles::empty_if_outgrown(tensor); });
    }
    update_training();
    ++changes_;
  };
  arguments.insert(arguments.begin(), c10::IValue(module_._ivalue()));
  forget_callback_error();
  try {
    method.function->run(arguments);
  } catch (...) {  // any exception: clean up before it is passed on
    end();
    if (*wrote) free_engine_leftovers();  // it may have run a backward
    throw_script_error();
  }
  end();
  return arguments.empty() ? c10::IValue() : std::move(arguments.back());
}

void Model::update_training() {
  bool any = false;
  for (const auto& [name, part] : parts_) any |= trains(part);
  training_ = any;
}

void Model::train(bool on) {
  const std::unique_lock<ModelMutex> lock(mutex_);
  for (const auto& [name, part] : parts_) set_training(part, on);
  update_training();
}

bool Model::is_training() const {
  const std::shared_lock<ModelMutex> lock(mutex_);
  return trains(module_);
}

void Model::to(c10::Device device) {
  const std::unique_lock<ModelMutex> lock(mutex_);
  module_.to(device);
}

Model::Named Model::named_tensors(bool parameters, bool buffers) const {
  Named named;
  if (parameters) {
    for (const auto& found : module_.named_parameters()) named.emplace_back(found.name, found.value);
  }
  if (buffers) {
    for (const auto& found : module_.named_buffers()) named.emplace_back(found.name, found.value);
  }
  return named;
}

Model::Named Model::parameters() const {
  const std::shared_lock<ModelMutex> lock(mutex_);
  return named_tensors(true, false);
}

Model::Named Model::buffers() const {
  const std::shared_lock<ModelMutex> lock(mutex_);
  return named_tensors(false, true);
}

c10::optional<Model::Named> Model::try_tensors() const {
  const std::shared_lock<ModelMutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return c10::nullopt;
  return named_tensors(true, true);
}

std::vector<std::pair<std::string, std::string>> Model::part_names() const {
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& [name, part] : parts_) names.emplace_back(name, class_name(part));
  return names;
}

const torch::jit::Module& Model::part(size_t place) const {
  if (place < parts_.size()) return parts_[place].second;
  throw BadArgument(1, "the place of one of " + std::to_string(parts_.size()) + " parts", std::to_string(place));
}

void Model::train_part(size_t place, bool on) {
  const std::unique_lock<ModelMutex> lock(mutex_);
  set_training(part(place), on);
  update_training();
}

bool Model::is_part_training(size_t place) const {
  const std::shared_lock<ModelMutex> lock(mutex_);
  return trains(part(place));
}

bool Model::try_storages(const std::function<bool(const at::Tensor&)>& may_read, std::vector<c10::Storage>* storages,
                         bool* all) const {
  *all = true;
  const std::shared_lock<ModelMutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  std::unordered_set<const c10::StorageImpl*> seen;
  const auto visit = [&](const at::Tensor& tensor) {
    if (!may_read(tensor)) *all = false;
    if (!*all || !tensor.unsafeGetTensorImpl()->has_storage()) return;
    if (seen.insert(tensor.storage().unsafeGetStorageImpl()).second) storages->push_back(tensor.storage());
  };
  for_each_tensor(module_._ivalue(), visit);
  for (const at::Tensor& constant : code_->constants()) visit(constant);
  return *all;
}

}  // namespace ltn::models
