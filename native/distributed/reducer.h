// Gradients that are averaged over the ranks while the backward runs (c10d::Reducer), behind an interface of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ltn::distributed {

class Group;

struct ReducerOptions {
  std::vector<at::Tensor> parameters;   // leaves that require gradients, each once, in the same order on all ranks
  std::vector<bool> sparse;             // which of them get sparse gradients
  std::vector<std::string> names;       // of the parameters, for messages
  std::optional<int64_t> bucket_bytes;  // none: PyTorch's default
  bool find_unused = false;
  bool gradient_as_bucket_view = false;
  bool static_graph = false;
};

// What DistributedDataParallel calls. Its hooks on the parameters run wherever a backward runs, and refer to it.
// Lifetime: it must outlive every backward that reaches a parameter, so JavaScript ends it only when none is in
// progress. Thread: the JS thread; the hooks on that of the backward, which is another one in torch.run.
class Reducer {
 public:
  virtual ~Reducer() = default;
  // Before a forward whose gradients will be reduced.
  virtual void prepare_for_forward() = 0;
  // Orders the buckets as the first backward filled them. Blocks once, because the ranks agree on the order.
  virtual void rebuild_buckets() = 0;
  // After such a forward. `outputs`: what it computed, if unused parameters are to be found.
  virtual void prepare_for_backward(const std::vector<at::Tensor>& outputs) = 0;
  // Copies of the outputs whose backward tells the reducer of outputs that no loss depends on.
  virtual std::vector<at::Tensor> through_sink(const std::vector<at::Tensor>& outputs) = 0;
};

}  // namespace ltn::distributed
