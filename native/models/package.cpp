#include "native/models/package.h"

#include "native/compat.h"
#include "native/errors/describe_tensor.h"
#include "native/errors/errors.h"

#ifdef LTN_HAS_PACKAGES
#include <ATen/DynamicLibrary.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "native/accounting/cpu_allocator.h"
#include "native/accounting/storage_ledger.h"
#include "native/models/script_error.h"
#endif

namespace ltn::models {

#ifdef LTN_HAS_PACKAGES

namespace {

using torch::inductor::AOTIModelContainerRunner;
using RunnerPtr = std::unique_ptr<AOTIModelContainerRunner>;

// ---- differences between libtorch versions, resolved by the compiler ----

using MakeOf26 = RunnerPtr (*)(const std::string&, size_t, const std::string&, const std::string&);
using MakeOf27 = RunnerPtr (*)(const std::string&, size_t, const std::string&, const std::string&, bool);

RunnerPtr make_runner(MakeOf26 make, const PackageFiles& files, size_t runners) {
  return make(files.library, runners, files.device, files.folder);
}
RunnerPtr make_runner(MakeOf27 make, const PackageFiles& files, size_t runners) {
  return make(files.library, runners, files.device, files.folder, /*run_single_threaded=*/false);
}

// For a future libtorch: the rest of the library must compile with it.
template <class Make>
RunnerPtr make_runner(Make, const PackageFiles&, size_t) {
  throw CodedError("ERR_TORCH_NOT_IMPLEMENTED", "packages are not supported with this version of libtorch");
}

template <class Runner>
auto read_weights(Runner& runner, const std::string& file, int)
    -> decltype(runner.update_constant_buffer_from_blob(file)) {
  return runner.update_constant_buffer_from_blob(file);
}
template <class Runner>
void read_weights(Runner&, const std::string&, long) {
  throw CodedError("ERR_TORCH_NOT_IMPLEMENTED", "its weights are in a separate file, which this libtorch cannot read");
}

// ---- private parts of the runner ----

struct RunnerAccess : AOTIModelContainerRunner {
  static AOTInductorModelContainerHandle container(AOTIModelContainerRunner& runner) {
    return runner.*(&RunnerAccess::container_handle_);
  }
  static at::DynamicLibrary& library(AOTIModelContainerRunner& runner) { return *(runner.*(&RunnerAccess::model_so_)); }
};

size_t query(AOTIModelContainerRunner& runner, const char* name) {
  using Query = AOTIRuntimeError (*)(AOTInductorModelContainerHandle, size_t*);
  size_t answer = 0;
  const auto function = reinterpret_cast<Query>(RunnerAccess::library(runner).sym(name));
  if (function(RunnerAccess::container(runner), &answer) != AOTI_RUNTIME_SUCCESS) {
    throw CodedError("ERR_TORCH_MODEL", std::string("its library failed on ") + name);
  }
  return answer;
}

// Whether some of the weights are computed from others before the first call.
bool computes_weights(AOTIModelContainerRunner& runner) {
  using Query = AOTIRuntimeError (*)(AOTInductorModelContainerHandle, size_t, bool*);
  const size_t count = query(runner, "AOTInductorModelContainerGetNumConstants");
  const auto function =
      reinterpret_cast<Query>(RunnerAccess::library(runner).sym("AOTInductorModelContainerGetConstantFromFolded"));
  bool any = false;
  for (size_t i = 0; i < count && !any; ++i) function(RunnerAccess::container(runner), i, &any);
  return any;
}

// Newer versions copy the weights out of the library.
template <class Runner>
auto bytes_of_weights(Runner& runner, int) -> decltype(runner.extract_constants_map(false), uint64_t{}) {
  uint64_t bytes = 0;
  const auto weights = runner.extract_constants_map(false);
  for (const auto& [name, tensor] : weights) {
    if (tensor.defined()) bytes += tensor.nbytes();
  }
  // Without weights the compiled code would read invalid memory.
  if (weights.empty() && query(runner, "AOTInductorModelContainerGetNumConstants") > 0) {
    throw CodedError("ERR_TORCH_MODEL", "its weights are not in its library (package_constants_in_so: False)");
  }
  return bytes;
}
template <class Runner>
uint64_t bytes_of_weights(Runner&, long) {
  return 0;
}

bool is_cpu(const std::string& device) { return device.rfind("cpu", 0) == 0; }

// If a call fails before the model has taken its inputs, the runner leaks its references to them. The inputs passed are
// this call's own tensors, so they can be emptied.
class Inputs {
 public:
  explicit Inputs(const std::vector<at::Tensor>& inputs) {
    for (const at::Tensor& input : inputs) own.push_back(input.resolve_conj().resolve_neg().detach());
  }
  void empty_leaked() noexcept {
    for (const at::Tensor& tensor : own) {
      if (tensor.use_count() > 1) tensor.unsafeGetTensorImpl()->release_resources();
    }
  }
  std::vector<at::Tensor> own;
};

// Before about 2.7 the error only names the failed function of the library.
std::string message_of(const std::exception& error) {
  const std::string message = script_message(error);
  const bool is_lost =
      message.find("_func_(") != std::string::npos && message.find("call failed at") != std::string::npos;
  return is_lost ? "the compiled code failed and wrote the reason to stderr" : message;
}

}  // namespace

struct Package::Compiled {
  RunnerPtr runner;
};

bool Package::is_supported() noexcept { return true; }

std::shared_ptr<Package> Package::load(const PackageFiles& files, size_t runners, InputForms forms) {
  const auto& makers = torch::inductor::getAOTIModelRunnerRegistry();
  const auto maker = makers.find(files.device.substr(0, files.device.find(':')));
  if (maker == makers.end()) {
    throw CodedError("ERR_TORCH_MODEL", "it was compiled for '" + files.device + "', which this libtorch lacks");
  }
  accounting::clear_allocation_failure();
  try {
    auto compiled = std::make_unique<Compiled>();
    compiled->runner = make_runner(maker->second, files, runners);
    AOTIModelContainerRunner& runner = *compiled->runner;
    if (!files.weights.empty()) read_weights(runner, files.weights, 0);
    // Otherwise it happens in the first call, where a failure loses a runner and waiting calls hang.
    if (computes_weights(runner)) runner.run_const_fold(/*use_inactive=*/false);
    std::shared_ptr<Package> package(new Package(std::move(compiled), runners));
    package->on_cpu_ = is_cpu(files.device);
    package->forms_ = std::move(forms);
    if (files.keep_folder) package->folder_ = files.folder;
    return package;
  } catch (const CodedError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    accounting::rethrow_allocation_failure();
    throw CodedError("ERR_TORCH_MODEL", "libtorch cannot load it: " + message_of(error));
  }
}

Package::Package(std::unique_ptr<Compiled> compiled, size_t runners) : compiled_(std::move(compiled)), idle_(runners) {
  AOTIModelContainerRunner& runner = *compiled_->runner;
  inputs_ = query(runner, "AOTInductorModelContainerGetNumInputs");
  outputs_ = query(runner, "AOTInductorModelContainerGetNumOutputs");
  weight_bytes_ = bytes_of_weights(runner, 0);
  const std::vector<std::string> trees = runner.get_call_spec();
  if (trees.size() == 2) {
    arguments_tree_ = trees[0];
    result_tree_ = trees[1];
  }
  for (size_t i = 0; i < inputs_; ++i) schema_ += (i == 0 ? "" : ", ") + ("Tensor input_" + std::to_string(i));
  schema_ = "forward(" + schema_ + ") -> Tensor[]";
  // It may write to any of its inputs; recorded calls depend on this.
  row_ = {"AotiPackage.forward", schema_.c_str(), nullptr, nullptr, ~uint64_t{0} >> 2};
}

Package::~Package() {
  compiled_.reset();
  std::error_code ignored;  // no one to report it to
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

// Holds one runner during a call. Lifetime: a local of run(). Thread: that of the call.
class Package::RunnerLock {
 public:
  explicit RunnerLock(Package& package) : package_(package) {
    std::unique_lock<std::mutex> lock(package_.mutex_);
    package_.runner_freed_.wait(lock, [&] { return package_.idle_ > 0; });
    --package_.idle_;
  }
  ~RunnerLock() {
    {
      const std::lock_guard<std::mutex> lock(package_.mutex_);
      ++package_.idle_;
    }
    package_.runner_freed_.notify_one();
  }
  RunnerLock(const RunnerLock&) = delete;
  RunnerLock& operator=(const RunnerLock&) = delete;

 private:
  Package& package_;
};

// Compiled code uses only the address of an input, so its properties are checked here.
void Package::check_input(const at::Tensor& input, size_t index) const {
  const bool is_there = on_cpu_ ? input.is_cpu() : !input.is_meta();
  if (!is_there || input.layout() != c10::kStrided) {
    throw BadArgument(index, on_cpu_ ? "a strided tensor on the CPU" : "a strided tensor", describe_tensor(input));
  }
  const auto form = forms_.find(index);
  if (form == forms_.end() || form->second.fits(input)) return;
  throw BadArgument(index, form->second.describe(), describe_strided(input));
}

std::vector<at::Tensor> Package::run(const std::vector<at::Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) check_input(inputs[i], i);
  const at::NoGradGuard no_grad;
  Inputs given(inputs);
  std::vector<at::Tensor> outputs;
  // libtorch's runner has a queue too, in which waiting calls are not notified of a failed one.
  const RunnerLock runner_lock(*this);
  accounting::clear_allocation_failure();
  try {
    outputs = compiled_->runner->run(given.own);
  } catch (...) {  // any exception: release the model's inputs before it is passed on
    given.empty_leaked();
    accounting::rethrow_allocation_failure();
    try {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(message_of(error));
    }
  }
  for (at::Tensor& output : outputs) {
    if (!output.defined() || !output.is_cpu() || !output.has_storage()) continue;
    const c10::StorageImpl* storage = output.storage().unsafeGetStorageImpl();
    bool is_input = false;
    for (const at::Tensor& input : given.own) is_input |= input.storage().unsafeGetStorageImpl() == storage;
    // Memory of the library, which is freed with the package.
    if (!is_input && !accounting::is_plain_cpu(storage)) output = output.clone();
  }
  return outputs;
}

#else  // a libtorch before 2.6

struct Package::Compiled {};

bool Package::is_supported() noexcept { return false; }

std::shared_ptr<Package> Package::load(const PackageFiles&, size_t, InputForms) {
  throw CodedError("ERR_TORCH_NOT_IMPLEMENTED",
                   "this libtorch is " TORCH_VERSION "; AOTInductor packages need 2.6 or later");
}

Package::Package(std::unique_ptr<Compiled>, size_t runners) : idle_(runners) {}
Package::~Package() = default;

std::vector<at::Tensor> Package::run(const std::vector<at::Tensor>&) {
  throw CodedError("ERR_TORCH_INTERNAL", "there is no package");
}

#endif

}  // namespace ltn::models
