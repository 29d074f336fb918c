// Statistics of autograd graphs: for each site, how large the graphs of its live tensors are, and which memory
// created there is still held although no JavaScript tensor refers to it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/function.h>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "native/audit/graphs.h"

namespace ltn::handles {

// The node that created the tensor; null for a leaf and for tensors without gradient. Changes nothing, unlike
// Tensor::grad_fn(), which may give a view a new node.
torch::autograd::Node* graph_of(const at::Tensor& tensor) noexcept;
// That of its gradient, if someone computed it with `create_graph`. No step may be writing gradients.
torch::autograd::Node* graph_of_gradient(const at::Tensor& tensor) noexcept;
inline bool has_graph(const at::Tensor& tensor) noexcept { return graph_of(tensor) != nullptr; }

// A storage whose last handle was freed, but that something else, such as a graph, still holds.
struct Hidden {
  // Keeps the address, not the data.
  c10::weak_intrusive_ptr<c10::StorageImpl> storage{c10::intrusive_ptr<c10::StorageImpl>()};
  const c10::StorageImpl* key = nullptr;  // null: nothing to record
  uint64_t bytes = 0;
  uint32_t site = 0;
};

// Lifetime: part of its slot table. It owns no node and no data: nodes are identified by address and number, storages
// by weak references. Thread: the environment's JS thread only.
class GraphCensus {
 public:
  struct Candidate {
    const torch::autograd::Node* node;  // alive while its tensor is, i.e. during the census
    uint32_t site;
    int64_t birth_ms;
    uint32_t flags = 0;  // kOnGradient: the node of the tensor's gradient
  };

  // Resets for another capture.
  void begin(uint32_t capture);
  uint32_t capture() const noexcept { return capture_; }

  // Adds a storage that outlives its tensor because others hold it.
  void add(Hidden&& hidden) noexcept;

  // One row for each site that has a graph or hidden memory, or had some at the last census. Reorders `live`.
  std::vector<audit::GraphRow> rows(std::vector<Candidate>* live, uint32_t flags);

  // The capture's round at the last census.
  uint32_t round = 0;

 private:
  struct Known {
    uint64_t sequence = 0;  // with the address, identifies a node: an address is reused after a free
    uint64_t min_sequence = 0, max_sequence = 0;  // of the sequence numbers of all its nodes
    uint64_t nodes = 0;
    uint64_t sites = 0;  // bits of the sites whose tensors it reaches
    bool is_cut_off = false, carries_itself = false;
  };
  using KnownNodes = std::unordered_map<const torch::autograd::Node*, Known>;

  const Known* find(const torch::autograd::Node* node) const;
  Known walk(const torch::autograd::Node* from, uint64_t own);
  static uint64_t nodes_of_all(std::vector<Known>* graphs);
  uint64_t bit_of(uint32_t site);
  void drop_freed() noexcept;

  uint32_t capture_ = 0;
  KnownNodes previous_, current_;                // of the last census, and of this one so far
  uint64_t budget_ = 0;                          // nodes that this census may still visit
  std::unordered_map<uint32_t, uint64_t> bits_;  // by site
  std::vector<uint32_t> reported_;               // sites with a row that was not 0
  std::vector<Hidden> hidden_;
  size_t purge_size_ = 0;  // size at which `hidden_` is purged
  std::unordered_set<const torch::autograd::Node*> seen_;
  std::vector<const torch::autograd::Node*> stack_;
  std::vector<Known> shared_;
};

}  // namespace ltn::handles
