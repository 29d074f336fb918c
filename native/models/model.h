// A TorchScript model and its methods.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <c10/util/Optional.h>
#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "native/models/code.h"
#include "native/models/model_mutex.h"
#include "native/models/writes.h"
#include "native/schema/op_table.h"

namespace ltn::models {

class ArchiveBuffer;

// Lifetime: part of its Model. Thread: any.
struct Method {
  std::string name;    // "forward"
  std::string title;   // "MLP.forward", the name in errors
  std::string schema;  // "forward(Tensor x) -> Tensor": without self
  OpRow row;           // title and schema, for the errors of a call
  torch::jit::Function* function;
  Writes writes;

  // The arguments without self.
  c10::ArrayRef<c10::Argument> arguments() const {
    return c10::ArrayRef<c10::Argument>(function->getSchema().arguments()).slice(1);
  }
  // Whether its result is always one tensor.
  bool gives_tensor() const {
    const auto& returns = function->getSchema().returns();
    return returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::TensorType;
  }
};

// Lifetime: shared by its token (token.h) and by the waiting and running calls. Thread: any. A call that may change the
// model runs exclusively; others run concurrently.
class Model {
 public:
  // Loads an archive that lib/jit has checked. Throws CodedError (ERR_TORCH_MODEL) if libtorch cannot load it.
  static std::shared_ptr<Model> load(ArchiveBuffer& archive, c10::optional<c10::Device> device);
  // As torch.jit.freeze: a new model whose code holds the parameters as constants, which share this model's memory.
  // Throws BadArgument in training mode and for names that it does not have, CodedError if libtorch cannot freeze it.
  std::shared_ptr<Model> freeze(const std::vector<std::string>& preserved, bool optimize_numerics) const;
  // As torch.jit.optimize_for_inference, but this model stays as it is, also if it is frozen or in training mode.
  std::shared_ptr<Model> optimize_for_inference(const std::vector<std::string>& other_methods) const;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::vector<std::unique_ptr<Method>>& methods() const noexcept { return methods_; }
  // Throws BadArgument for an unknown name.
  const Method& method(const std::string& name) const;

  // The method's result for arguments without self. `*wrote`: it may have changed the model or its arguments, also if
  // it throws.
  c10::IValue run(const Method& method, torch::jit::Stack arguments, bool* wrote);
  // Whether run() may write.
  bool may_write(const Method& method) const noexcept {
    return method.writes == Writes::Always || (method.writes == Writes::InTraining && training_);
  }

  void train(bool on);
  bool is_training() const;
  void to(c10::Device device);
  // Grows when code of the model has run, also a __getstate__, that may have put another tensor into an attribute.
  int64_t changes() const noexcept { return changes_; }
  using Named = std::vector<std::pair<std::string, at::Tensor>>;
  // By all their names: a tensor that several parts share comes more than once.
  Named parameters() const;
  Named buffers() const;
  // The parameters, then the buffers; nothing while a call changes the model.
  c10::optional<Named> try_tensors() const;
  // Itself and the modules in it: name ("" for itself, "layers.0") and class ("Linear").
  std::vector<std::pair<std::string, std::string>> part_names() const;
  // The training mode of one of `part_names`. Throws BadArgument for a place past the end.
  void train_part(size_t place, bool on);
  bool is_part_training(size_t place) const;
  // A model with tensors and objects of its own.
  std::shared_ptr<Model> copy() const;
  // Writes the archive in pieces. Throws CodedError (ERR_TORCH_MODEL) for what cannot be saved, such as oneDNN's
  // layouts.
  void save(const std::function<void(const char* bytes, size_t count)>& write) const;
  // All its storages, each once. False while a call changes it, and, with `*all` false, if `may_read` refuses a tensor.
  bool try_storages(const std::function<bool(const at::Tensor&)>& may_read, std::vector<c10::Storage>* storages,
                    bool* all) const;

 private:
  Model(torch::jit::Module module, std::shared_ptr<const Code> code);
  void update_training();
  Named named_tensors(bool parameters, bool buffers) const;
  const torch::jit::Module& part(size_t place) const;

  torch::jit::Module module_;
  std::vector<std::pair<std::string, torch::jit::Module>> parts_;  // by name: code cannot replace a part
  const std::shared_ptr<const Code> code_;  // shared with its copies, which run the same functions
  std::vector<std::unique_ptr<Method>> methods_;
  std::atomic<bool> training_{false};  // any part of it
  mutable std::atomic<int64_t> changes_{0};
  mutable ModelMutex mutex_;  // shared: reads the model's state; alone: changes it
};

}  // namespace ltn::models
