// Models as archives, and copies of models.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/serialization/export.h>

#include <functional>
#include <mutex>
#include <utility>

#include "native/errors/errors.h"
#include "native/models/model.h"
#include "native/models/script_error.h"

namespace ltn::models {

namespace {

// libtorch clones the tensors without gradients: with them the clones of parameters would be results instead of leaves.
torch::jit::Module copied(const torch::jit::Module& original) {
  const at::NoGradGuard guard;
  torch::jit::Module copy = original.deepcopy();
  auto from = original.named_parameters().begin();
  for (const at::Tensor& parameter : copy.parameters()) {
    parameter.set_requires_grad((*from).value.requires_grad());
    ++from;
  }
  return copy;
}

}  // namespace

void Model::save(const std::function<void(const char*, size_t)>& write) const {
  if (code_->has_layouts()) {
    throw CodedError("ERR_TORCH_MODEL",
                     "expected a model that can be loaded again, got one whose weights are in oneDNN's layouts, as "
                     "torch.jit.optimizeForInference makes them: save the model that it was made of");
  }
  // Alone: a part's __getstate__ may change it.
  const std::unique_lock<ModelMutex> lock(mutex_);
  ++changes_;
  run_or_refuse("libtorch cannot save it", [&] {
    torch::jit::ExportModule(module_, [&](const void* bytes, size_t count) {
      write(static_cast<const char*>(bytes), count);
      return count;
    });
  });
}

std::shared_ptr<Model> Model::copy() const {
  const std::unique_lock<ModelMutex> lock(mutex_);  // alone, for the same reason
  ++changes_;
  torch::jit::Module copy;
  run_or_refuse("libtorch cannot copy it", [&] { copy = copied(module_); });
  return std::shared_ptr<Model>(new Model(std::move(copy), code_));
}

}  // namespace ltn::models
