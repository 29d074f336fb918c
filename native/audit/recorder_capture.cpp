// Start of a capture, handles older than it, and queries of the current state.
#include <algorithm>
#include <limits>

#include "native/audit/recorder.h"

namespace ltn::audit {

namespace {
// The CLI shows a frame with line 0 unchanged.
constexpr char kBefore[] = "[{\"file\":\"(before attach)\",\"line\":0,\"column\":0,\"function\":\"\"}]";
}  // namespace

void Recorder::begin(uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  capture_ = capture;
  records_.clear();
  storages_.clear();
  cells_ = std::vector<Cell>(1);
  dirty_ = {};
  by_identity_ = {};
  by_place_ = {};
  unwritten_ = {};
  deaths_ = {};
  owner_queue_ = {};
  graphs_ = {};
  parts_ = {};
  tokens_ = {};
  dirty_tokens_ = {};
  token_rows_ = {};
  tokens_changed_ = false;
  unwritten_live_ = written_live_ = 0;
  for (Env& env : envs_) {
    env.records = {};
    env.seen = false;
    env.collection_ms = std::numeric_limits<int64_t>::min();
    env.count.store(0, std::memory_order_relaxed);
  }
}

uint32_t Recorder::found(const Birth& birth, int64_t birth_ms, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return 0;
  if (site_before_ == 0) {
    const auto id = static_cast<uint32_t>(sites_.size() + 1);
    sites_.push_back({id, 0, 0, kBefore});
    site_before_ = id;
  }
  // Another thread may have reported the storage, or made a view of it, in the meantime.
  const uint32_t storage = birth.storage != nullptr ? known_storage(birth.storage) : 0;
  Birth first = birth;
  first.storage_is_new = storage == 0;
  const float weight = storage != 0 ? storages_[storage].weight : 1;
  int64_t allocated = 0;
  return add(first, weight, cell_of(site_before_, 0, birth.device_type, birth.device_index), storage, birth_ms,
             &allocated);
}

std::vector<CellRow> Recorder::holding_most(size_t max) const {
  std::vector<CellRow> rows;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    rows.reserve(cells_.size());
    for (size_t i = 1; i < cells_.size(); ++i) {
      if (cells_[i].allocated_units > 0) rows.push_back(row_of(cells_[i]));
    }
  }
  const auto more = [](const CellRow& a, const CellRow& b) {
    return a.live_bytes != b.live_bytes ? a.live_bytes > b.live_bytes : a.live_tensors > b.live_tensors;
  };
  std::sort(rows.begin(), rows.end(), more);
  if (rows.size() > max) rows.resize(max);
  return rows;
}

CreatedTotals Recorder::created_totals() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t units = 0, bytes = 0;
  for (const Cell& cell : cells_) {
    if (cell.site != 0 && cell.site == site_before_) continue;  // found, not created
    units += cell.allocated_units;
    bytes += cell.allocated_bytes;
  }
  return {static_cast<uint64_t>(units / kUnit), static_cast<uint64_t>(bytes)};
}

std::string Recorder::site_json(uint32_t id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return id == 0 || id > sites_.size() ? std::string() : sites_[id - 1].json;
}

}  // namespace ltn::audit
