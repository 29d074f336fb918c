#include "native/handles/graph_census.h"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

#include "native/accounting/storage_ledger.h"
#include "native/audit/audit.h"
#include "native/handles/slot_table.h"
#include "native/handles/storage_of.h"

namespace ltn::handles {

using torch::autograd::Node;

namespace {
// Limit per census: about 10 ms.
constexpr uint64_t kMaxNodes = 100'000;
// The youngest tensors per site are examined: an accumulated value is among them.
constexpr size_t kMaxOfSite = 64;
// Graphs up to this size are walked again, so that nodes shared with others count once.
constexpr uint64_t kSmall = 32;
constexpr size_t kMinPurgeSize = 4096;
}  // namespace

Node* graph_of(const at::Tensor& tensor) noexcept {
  if (!tensor.defined() || torch::autograd::impl::get_autograd_meta(tensor) == nullptr) return nullptr;
  return torch::autograd::impl::grad_fn_unsafe(tensor);
}

Node* graph_of_gradient(const at::Tensor& tensor) noexcept {
  if (!tensor.defined()) return nullptr;
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  return meta == nullptr ? nullptr : graph_of(meta->grad_);
}

void GraphCensus::begin(uint32_t capture) {
  capture_ = capture;
  previous_.clear();
  current_.clear();
  bits_.clear();
  reported_.clear();
  hidden_.clear();
  purge_size_ = 0;
  round = 0;
}

void GraphCensus::add(Hidden&& hidden) noexcept {
  if (hidden_.size() >= purge_size_) drop_freed();
  try {
    hidden_.push_back(std::move(hidden));
  } catch (...) {  // out of memory
    audit::note_lost();
  }
}

void GraphCensus::drop_freed() noexcept {
  const auto is_gone = [](const Hidden& one) { return one.storage.expired(); };
  hidden_.erase(std::remove_if(hidden_.begin(), hidden_.end(), is_gone), hidden_.end());
  purge_size_ = std::max(kMinPurgeSize, 2 * hidden_.size());
}

const GraphCensus::Known* GraphCensus::find(const Node* node) const {
  for (const KnownNodes* nodes : {&current_, &previous_}) {
    const auto it = nodes->find(node);
    if (it != nodes->end() && it->second.sequence == node->sequence_nr()) return &it->second;
  }
  return nullptr;
}

// There are few sites with graphs. With more than 64, two share a bit.
uint64_t GraphCensus::bit_of(uint32_t site) {
  return bits_.try_emplace(site, uint64_t{1} << (bits_.size() & 63)).first->second;
}

// A common node lies within the sequence range of both graphs. So graphs with disjoint ranges are disjoint, and their
// nodes add up; of overlapping ones the largest counts.
uint64_t GraphCensus::nodes_of_all(std::vector<Known>* graphs) {
  std::sort(graphs->begin(), graphs->end(),
            [](const Known& a, const Known& b) { return a.max_sequence > b.max_sequence; });
  uint64_t sum = 0, largest = 0, lowest = 0;
  for (const Known& graph : *graphs) {
    if (largest != 0 && graph.max_sequence < lowest) {
      sum += largest;
      largest = 0;
    }
    lowest = largest == 0 ? graph.min_sequence : std::min(lowest, graph.min_sequence);
    largest = std::max(largest, graph.nodes);
  }
  return sum + largest;
}

// Counts the nodes reachable from `from`. A graph does not change once created, so the walk stops at nodes whose graphs
// are counted already: an accumulated value costs only what was added to it. Leaves, which all values share, do not
// count.
GraphCensus::Known GraphCensus::walk(const Node* from, uint64_t own) {
  Known found;
  found.sequence = from->sequence_nr();
  found.min_sequence = found.max_sequence = found.sequence;
  shared_.clear();
  seen_.clear();
  stack_.assign(1, from);
  while (!stack_.empty()) {
    const Node* node = stack_.back();
    stack_.pop_back();
    const Known* known = node == from ? nullptr : find(node);
    if (known != nullptr) found.sites |= known->sites;
    if (known != nullptr && (known->nodes > kSmall || known->is_cut_off)) {
      shared_.push_back(*known);
      found.min_sequence = std::min(found.min_sequence, known->min_sequence);
      found.max_sequence = std::max(found.max_sequence, known->max_sequence);
      found.is_cut_off |= known->is_cut_off;
      continue;
    }
    if (budget_ == 0) {
      found.is_cut_off = true;
      break;
    }
    --budget_;
    ++found.nodes;
    found.min_sequence = std::min(found.min_sequence, node->sequence_nr());
    found.max_sequence = std::max(found.max_sequence, node->sequence_nr());
    for (const auto& edge : node->next_edges()) {
      const Node* next = edge.function.get();
      if (next != nullptr && !next->next_edges().empty() && seen_.insert(next).second) stack_.push_back(next);
    }
  }
  found.nodes += nodes_of_all(&shared_);
  found.carries_itself = (found.sites & own) != 0;
  found.sites |= own;
  return found;
}

// Keeps the kMaxOfSite youngest of each site, to bound the cost.
template <typename IsOlder>
void keep_youngest(std::vector<GraphCensus::Candidate>* live, const IsOlder& is_older) {
  using Candidate = GraphCensus::Candidate;
  std::sort(live->begin(), live->end(), [&](const Candidate& a, const Candidate& b) {
    return a.site != b.site ? a.site < b.site : is_older(b, a);
  });
  size_t kept = 0, of_site = 0;
  uint32_t site = 0;
  for (const Candidate& one : *live) {
    of_site = kept > 0 && one.site == site ? of_site + 1 : 0;
    site = one.site;
    if (of_site < kMaxOfSite) (*live)[kept++] = one;
  }
  live->erase(live->begin() + static_cast<std::ptrdiff_t>(kept), live->end());
}

std::vector<audit::GraphRow> GraphCensus::rows(std::vector<Candidate>* live, uint32_t flags) {
  std::map<uint32_t, audit::GraphRow> found;
  const auto row_of = [&](uint32_t site) -> audit::GraphRow& {
    audit::GraphRow& row = found[site];
    row.site = site;
    row.flags |= flags;
    return row;
  };
  for (const uint32_t site : reported_) row_of(site);
  for (const Candidate& one : *live) ++row_of(one.site).tensors;

  const auto is_older = [](const Candidate& a, const Candidate& b) {
    return a.birth_ms != b.birth_ms ? a.birth_ms < b.birth_ms : a.node->sequence_nr() < b.node->sequence_nr();
  };
  keep_youngest(live, is_older);
  // Oldest first, so that the walk from a younger tensor stops at nodes that are counted already.
  std::sort(live->begin(), live->end(), is_older);
  budget_ = kMaxNodes;
  current_.clear();
  for (const Candidate& one : *live) {
    const uint64_t own = bit_of(one.site);
    const Known* known = find(one.node);
    const Known graph = known != nullptr ? *known : walk(one.node, own);
    current_[one.node] = graph;
    audit::GraphRow& row = row_of(one.site);
    row.nodes = std::max(row.nodes, graph.nodes);
    row.flags |= one.flags;
    if (graph.is_cut_off) row.flags |= audit::kCutOff;
    if (graph.carries_itself) row.flags |= audit::kCarriesItself;
  }
  previous_.swap(current_);

  drop_freed();
  for (const Hidden& one : hidden_) {
    if (accounting::has_handles(one.key)) continue;  // a tensor refers to it again
    audit::GraphRow& row = row_of(one.site);
    ++row.hidden_storages;
    row.hidden_bytes += one.bytes;
  }
  std::vector<audit::GraphRow> rows;
  reported_.clear();
  for (const auto& [site, row] : found) {
    rows.push_back(row);
    if (row.tensors != 0 || row.hidden_storages != 0) reported_.push_back(site);
  }
  return rows;
}

void SlotTable::take_census(bool collected) {
  check_thread();
  const uint32_t capture = audit::capture();
  if (capture == 0) {
    census_.reset();
    return;
  }
  report_to_capture();
  if (census_ == nullptr) census_ = std::make_unique<GraphCensus>();
  if (census_->capture() != capture) census_->begin(capture);
  const uint32_t round = audit::rounds_so_far();
  if (!collected && census_->round == round) return;
  census_->round = round;

  std::vector<uint32_t> records;
  std::vector<GraphCensus::Candidate> candidates;
  for (uint32_t index = 0; index < used_; ++index) {
    const Slot& slot = at(index);
    if (!slot.live || slot.record == 0 || slot.record == kWatchedOnly || is_in_use(slot)) continue;
    const Node* node = graph_of(slot.tensor);
    uint32_t flags = 0;
    if (node == nullptr && !loans_.any()) {
      node = graph_of_gradient(slot.tensor);
      flags = audit::kOnGradient;
    }
    if (node == nullptr) continue;
    records.push_back(slot.record);
    candidates.push_back({node, 0, 0, flags});
  }
  std::vector<audit::BirthInfo> births(records.size());
  audit::births_of(capture, records.data(), records.size(), births.data());
  size_t known = 0;
  for (size_t i = 0; i < births.size(); ++i) {
    if (births[i].known)
      candidates[known++] = {candidates[i].node, births[i].site, births[i].birth_ms, candidates[i].flags};
  }
  candidates.resize(known);
  audit::add_graphs(capture, census_->rows(&candidates, collected ? audit::kCollected : 0));
}

// The storage of a slot being freed, if someone else holds it or the tensor.
Hidden SlotTable::hidden_of(const Slot& slot) const noexcept {
  Hidden hidden;
  const bool is_recorded = slot.record != 0 && slot.record != kWatchedOnly && audit_capture_ == audit::capture();
  if (!is_recorded || slot.entry == nullptr || slot.entry->bytes == 0 || is_in_use(slot)) return hidden;
  const at::Tensor& tensor = slot.tensor;
  if (!tensor.is_cpu() || storage_of(tensor) != slot.entry->key) return hidden;
  if (tensor.use_count() == 1 && tensor.unsafeGetTensorImpl()->unsafe_storage().use_count() == 1) return hidden;
  audit::BirthInfo birth;
  audit::births_of(audit_capture_, &slot.record, 1, &birth);
  if (!birth.known) return hidden;
  hidden.storage = slot.entry->weak;
  hidden.key = slot.entry->key;
  hidden.bytes = static_cast<uint64_t>(static_cast<double>(slot.entry->bytes) * static_cast<double>(birth.weight));
  hidden.site = birth.site;
  return hidden;
}

void SlotTable::release_recorded(uint32_t index) noexcept {
  Hidden hidden = hidden_of(at(index));
  record_death(index);
  release_tensor(index);
  // While another handle refers to it, the last one reports it.
  if (hidden.key == nullptr || hidden.storage.expired() || accounting::has_handles(hidden.key)) return;
  try {
    if (census_ == nullptr) {
      census_ = std::make_unique<GraphCensus>();
      census_->begin(audit_capture_);
    }
  } catch (...) {  // out of memory
    audit::note_lost();
    return;
  }
  if (census_->capture() != audit_capture_) return;
  census_->add(std::move(hidden));
}

}  // namespace ltn::handles
