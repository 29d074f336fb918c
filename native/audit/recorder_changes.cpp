// The changes that the recorder passes to the writer in each round.
#include <algorithm>
#include <limits>

#include "native/audit/recorder.h"

namespace ltn::audit {

namespace {
uint8_t owner_flags(uint32_t owner) { return owner == kCollector ? kByCollector : owner == kKept ? kByKeep : kByScope; }
}  // namespace

void Recorder::drain(Changes* changes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto since = [](const auto& all, size_t* written, auto* out) {
    out->assign(all.begin() + static_cast<std::ptrdiff_t>(*written), all.end());
    *written = all.size();
  };
  since(sites_, &sites_written_, &changes->sites);
  since(shapes_, &shapes_written_, &changes->shapes);
  since(labels_, &labels_written_, &changes->labels);
  drain_rows(&changes->rows);
  drain_owners(changes);  // before births, which carry their own owner
  drain_births(changes);
  changes->graphs.clear();
  for (const auto& [site, row] : graphs_) changes->graphs.push_back(row);
  graphs_.clear();
  drain_extras(changes);
  rounds_.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::births_of(const uint32_t* records, size_t count, BirthInfo* births, uint32_t capture) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < count; ++i) {
    births[i] = BirthInfo{};
    const Record* record = capture == capture_ ? find(records[i]) : nullptr;
    if (record == nullptr || record->waiting) continue;
    births[i] = {true, cells_[record->cell].site, record->birth_ms, record->weight};
  }
}

void Recorder::add_graphs(const std::vector<GraphRow>& rows, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return;
  for (const GraphRow& row : rows) graphs_[row.site] = row;
}

CellRow Recorder::row_of(const Cell& cell) const {
  const auto count = [](int64_t n) { return static_cast<uint64_t>(n < 0 ? 0 : n); };
  CellRow row;
  row.site = cell.site;
  row.label = cell.label;
  row.device_type = cell.device_type;
  row.device_index = cell.device_index;
  row.live_tensors = count((cell.live_units + kUnit / 2) / kUnit);
  row.live_bytes = count(cell.live_bytes);
  row.allocated_tensors = count((cell.allocated_units + kUnit / 2) / kUnit);
  row.allocated_bytes = count(cell.allocated_bytes);
  row.oldest_birth_ms =
      cell.records.head != 0 ? records_[cell.records.head].birth_ms : std::numeric_limits<int64_t>::min();
  return row;
}

void Recorder::drain_rows(std::vector<CellRow>* rows) {
  rows->clear();
  rows->reserve(dirty_.size());
  for (const uint32_t index : dirty_) {
    Cell& cell = cells_[index];
    cell.dirty = false;
    rows->push_back(row_of(cell));
  }
  dirty_.clear();
}

void Recorder::drain_births(Changes* changes) {
  changes->deaths = deaths_;
  deaths_.clear();
  changes->births.clear();
  changes->births.reserve(unwritten_live_);
  deaths_.reserve(written_live_ + unwritten_live_);
  size_t waiting = 0;
  for (const uint32_t id : unwritten_) {
    Record* record = find(id);
    // Freed; or written already, for example a record that reuses the id.
    if (record == nullptr || record->written) continue;
    if (record->waiting) {  // its stack comes soon: left to the next round
      unwritten_[waiting++] = id;
      continue;
    }
    record->written = true;
    const Cell& cell = cells_[record->cell];
    BirthEntry birth;
    birth.id = id;
    birth.site = cell.site;
    birth.label = cell.label;
    birth.shape = record->shape;
    birth.birth_ms = record->birth_ms;
    birth.bytes = record->storage != 0 ? storages_[record->storage].bytes : part_bytes(id & kIndexMask);
    birth.weight = record->weight;
    birth.storage = record->storage;
    birth.device_type = record->device_type;
    birth.device_index = record->device_index;
    birth.dtype = record->dtype;
    birth.flags = static_cast<uint8_t>((record->is_view ? kView : 0) | owner_flags(record->owner) |
                                       (record->has_graph ? kHasGraph : 0));
    if (record->owner > kKept) changes->scopes.push_back({id, record->owner});
    birth.env = record->env;
    changes->births.push_back(birth);
  }
  unwritten_.resize(waiting);
  written_live_ += changes->births.size();
  unwritten_live_ -= changes->births.size();
}

void Recorder::moved(uint32_t id, uint32_t owner, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return;
  Record* record = find(id);
  if (record == nullptr) return;
  record->owner = owner;
  queue_owner(id, record);
}

// An unwritten birth carries its owner itself.
void Recorder::queue_owner(uint32_t id, Record* record) {
  if (record == nullptr || !record->written || record->owner_queued) return;
  owner_queue_.push_back(id);
  record->owner_queued = true;
}

void Recorder::drain_owners(Changes* changes) {
  changes->scopes.clear();
  changes->kept.clear();
  for (const uint32_t id : owner_queue_) {
    Record* record = find(id);
    if (record == nullptr || !record->owner_queued) continue;
    record->owner_queued = false;
    if (record->owner > kKept) changes->scopes.push_back({id, record->owner});
    if (record->owner == kKept) changes->kept.push_back(id);
  }
  owner_queue_.clear();
}

void Recorder::requeue(const Changes& changes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sites_written_ = shapes_written_ = labels_written_ = 0;
  touch_all();
  deaths_.reserve(deaths_.size() + changes.deaths.size() + written_live_);
  deaths_.insert(deaths_.begin(), changes.deaths.begin(), changes.deaths.end());
  unwritten_.reserve(unwritten_.size() + changes.births.size());
  for (const BirthEntry& birth : changes.births) {
    Record* record = find(birth.id);
    if (record == nullptr || !record->written) continue;
    record->written = false;
    unwritten_.push_back(birth.id);
    --written_live_;
    ++unwritten_live_;
  }
  for (const ScopeEntry& entry : changes.scopes) queue_owner(entry.id, find(entry.id));
  for (const uint32_t id : changes.kept) queue_owner(id, find(id));
  for (const GraphRow& row : changes.graphs) graphs_.try_emplace(row.site, row);
  requeue_extras();
}

void Recorder::requeue_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  sites_written_ = shapes_written_ = labels_written_ = 0;
  touch_all();
  deaths_.clear();
  owner_queue_.clear();
  unwritten_.clear();
  unwritten_live_ = written_live_ = 0;
  requeue_extras();
  for (uint32_t i = 1; i < records_.end(); ++i) {
    Record& record = records_[i];
    if (!record.live) continue;
    record.written = record.owner_queued = false;
    unwritten_.push_back(uint32_t{record.generation} << kIndexBits | i);
    ++unwritten_live_;
  }
}

void Recorder::touch_all() {
  for (uint32_t i = 1; i < cells_.size(); ++i) touch(i);
}

void Recorder::keep_live(std::vector<BirthEntry>* births) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto gone = [this](const BirthEntry& birth) {
    const Record* record = find(birth.id);
    return record == nullptr || !record->written;
  };
  births->erase(std::remove_if(births->begin(), births->end(), gone), births->end());
  for (BirthEntry& birth : *births) {
    birth.flags = static_cast<uint8_t>((birth.flags & (kView | kHasGraph)) | owner_flags(find(birth.id)->owner));
  }
}

size_t Recorder::pending_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return (unwritten_.size() + deaths_.size() + owner_queue_.size()) * sizeof(uint32_t);
}

}  // namespace ltn::audit
