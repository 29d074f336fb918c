// The functions of a model: their constants, and the end of those that were copied from another model.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ltn::models {

// Functions that were copied into a compilation unit.
struct Copies {
  std::shared_ptr<torch::jit::CompilationUnit> unit;  // null if nothing was copied
  std::vector<c10::QualifiedName> names;
};

// libtorch puts the functions of a copied module into the compilation unit of the original, which would keep them, and
// the tensors that are constants in them, as long as any model of the unit exists. Lifetime: part of its Model; its end
// removes the copies. Thread: any; the units are changed under one lock, since a model may end on a thread of the pool.
// A model may also end while a copy is made, on the same thread, if an allocation has to collect garbage: then the end
// of the copy removes its functions.
class Code {
 public:
  // The code of a module that has a compilation unit of its own, which ends with it.
  static Code of_loaded(const torch::jit::Module& module);
  // The copy that `make` returns, and its code. Copies of a failed `make` are removed.
  static Code of_copy(const torch::jit::Module& original, const std::function<torch::jit::Module()>& make,
                      torch::jit::Module* copy);
  ~Code();
  Code(Code&& other) noexcept = default;
  Code& operator=(Code&&) = delete;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  // The tensors that are constants of the code. They do not change.
  const std::vector<at::Tensor>& constants() const noexcept { return constants_; }
  // Whether it has weights in oneDNN's layouts, which its source cannot express: libtorch writes it, but cannot read
  // it.
  bool has_layouts() const noexcept { return has_layouts_; }

 private:
  Code() = default;
  void find_constants(const std::vector<torch::jit::Function*>& functions);

  Copies copies_;
  std::vector<at::Tensor> constants_;
  bool has_layouts_ = false;
};

}  // namespace ltn::models
