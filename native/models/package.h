// A model that PyTorch's AOTInductor compiled into a shared library: the content of a .pt2 package.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "native/models/package_inputs.h"
#include "native/schema/op_table.h"

namespace ltn::models {

// The files that lib/inductor has checked and unpacked.
struct PackageFiles {
  std::string folder;
  std::string library;  // the model's library; its other files are in the same directory
  std::string weights;  // separate weights file, or ""
  std::string device;   // 'cpu', 'cuda', 'cuda:1'
  bool keep_folder;     // the model reads from it later too: removed with the Package
};

// Lifetime: shared by its token (package_call.h) and by the waiting and running calls. Thread: any. As many concurrent
// calls as there are runners; the others wait.
class Package {
 public:
  // Whether this libtorch can load packages at all.
  static bool is_supported() noexcept;
  // Runs the code of the library. Throws CodedError: ERR_TORCH_MODEL for what libtorch cannot load,
  // ERR_TORCH_NOT_IMPLEMENTED if it loads no packages.
  static std::shared_ptr<Package> load(const PackageFiles& files, size_t runners, InputForms forms);
  ~Package();
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  // Takes all inputs; none is undefined.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

  const OpRow& row() const noexcept { return row_; }  // for the errors of a call
  size_t inputs() const noexcept { return inputs_; }
  size_t outputs() const noexcept { return outputs_; }
  // The nesting of arguments and results, as JSON of PyTorch's pytree.
  const std::string& arguments_tree() const noexcept { return arguments_tree_; }
  const std::string& result_tree() const noexcept { return result_tree_; }
  // Size of the weights that are not part of the library's file.
  uint64_t weight_bytes() const noexcept { return weight_bytes_; }

 private:
  struct Compiled;  // libtorch's part
  class RunnerLock;
  explicit Package(std::unique_ptr<Compiled> compiled, size_t runners);
  void check_input(const at::Tensor& input, size_t index) const;

  std::unique_ptr<Compiled> compiled_;
  std::string folder_;  // "" if nothing is to be removed
  size_t inputs_ = 0;
  size_t outputs_ = 0;
  uint64_t weight_bytes_ = 0;
  bool on_cpu_ = true;
  InputForms forms_;
  std::string arguments_tree_;
  std::string result_tree_;
  std::string schema_;
  OpRow row_{};

  std::mutex mutex_;
  std::condition_variable runner_freed_;
  size_t idle_;  // number of free runners
};

}  // namespace ltn::models
