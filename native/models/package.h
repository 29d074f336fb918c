// A model that PyTorch's AOTInductor compiled into a library of its own: what is in a .pt2 package.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "native/models/package_inputs.h"
#include "native/op_table.h"

namespace ltn::models {

// Where lib/inductor has unpacked what it had examined.
struct PackageFiles {
  std::string folder;
  std::string library;  // of the model; its other files are beside it
  std::string weights;  // where they are a file of their own, else ""
  std::string device;   // 'cpu', 'cuda', 'cuda:1'
  bool keep_folder;     // the model reads from it later too: it goes with the Package
};

// Lifetime: shared by its token (package_call.h) and by the calls that wait or run.
// Thread: any. As many calls at a time as there are runners; the others wait.
class Package {
 public:
  // Whether this libtorch can load them at all.
  static bool is_supported() noexcept;
  // Runs the code of the library. Throws CodedError: ERR_TORCH_MODEL for what libtorch cannot load,
  // ERR_TORCH_NOT_IMPLEMENTED where it loads none.
  static std::shared_ptr<Package> load(const PackageFiles& files, size_t runners, InputForms forms);
  ~Package();
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  // All inputs are given, none is undefined.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

  const OpRow& row() const noexcept { return row_; }  // for the errors of a call
  size_t inputs() const noexcept { return inputs_; }
  size_t outputs() const noexcept { return outputs_; }
  // How arguments and results are nested, as JSON of PyTorch's pytree.
  const std::string& arguments_tree() const noexcept { return arguments_tree_; }
  const std::string& result_tree() const noexcept { return result_tree_; }
  // The model's weights, where they are not part of the library's file.
  uint64_t weight_bytes() const noexcept { return weight_bytes_; }

 private:
  struct Compiled;  // libtorch's part
  class Turn;
  explicit Package(std::unique_ptr<Compiled> compiled, size_t runners);
  void demand(const at::Tensor& input, size_t index) const;

  std::unique_ptr<Compiled> compiled_;
  std::string folder_;  // "" where nothing is left to remove
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
  std::condition_variable turn_ended_;
  size_t idle_;  // runners that no call has
};

}  // namespace ltn::models
