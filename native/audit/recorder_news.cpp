// What the recorder has to tell the writer, round by round.
#include <algorithm>
#include <limits>

#include "native/audit/recorder.h"

namespace ltn::audit {

namespace {
uint8_t owner_flags(uint32_t owner) { return owner == kCollector ? kByCollector : owner == kKept ? kByKeep : kByScope; }
}  // namespace

void Recorder::drain(News* news) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto since = [](const auto& all, size_t* told, auto* out) {
    out->assign(all.begin() + static_cast<std::ptrdiff_t>(*told), all.end());
    *told = all.size();
  };
  since(sites_, &sites_told_, &news->sites);
  since(shapes_, &shapes_told_, &news->shapes);
  since(labels_, &labels_told_, &news->labels);
  drain_rows(&news->rows);
  drain_owners(news);  // before births: those tell their own
  drain_births(news);
  news->graphs.clear();
  for (const auto& [site, row] : graphs_) news->graphs.push_back(row);
  graphs_.clear();
  rounds_.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::places_of(const uint32_t* records, size_t count, BirthPlace* places, uint32_t capture) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < count; ++i) {
    places[i] = BirthPlace{};
    const Record* record = capture == capture_ ? find(records[i]) : nullptr;
    if (record == nullptr || record->waiting) continue;
    places[i] = {true, cells_[record->cell].site, record->birth_ms, record->weight};
  }
}

void Recorder::tell_graphs(const std::vector<GraphRow>& rows, uint32_t capture) {
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

void Recorder::drain_births(News* news) {
  news->deaths = deaths_;
  deaths_.clear();
  news->births.clear();
  news->births.reserve(fresh_live_);
  deaths_.reserve(told_live_ + fresh_live_);
  size_t waiting = 0;
  for (const uint32_t id : fresh_) {
    Record* record = find(id);
    if (record == nullptr || record->told) continue;  // or it is another's, whose id has come round again
    if (record->waiting) {                            // its stack is taken any moment: the next round tells it
      fresh_[waiting++] = id;
      continue;
    }
    record->told = true;
    const Cell& cell = cells_[record->cell];
    BirthEntry birth;
    birth.id = id;
    birth.site = cell.site;
    birth.label = cell.label;
    birth.shape = record->shape;
    birth.birth_ms = record->birth_ms;
    birth.bytes = record->storage != 0 ? storages_[record->storage].bytes : 0;
    birth.weight = record->weight;
    birth.storage = record->storage;
    birth.device_type = record->device_type;
    birth.device_index = record->device_index;
    birth.dtype = record->dtype;
    birth.flags = static_cast<uint8_t>((record->is_view ? kView : 0) | owner_flags(record->owner) |
                                       (record->has_graph ? kHasGraph : 0));
    if (record->owner > kKept) news->scopes.push_back({id, record->owner});
    birth.env = record->env;
    news->births.push_back(birth);
  }
  fresh_.resize(waiting);
  told_live_ += news->births.size();
  fresh_live_ -= news->births.size();
}

void Recorder::moved(uint32_t id, uint32_t owner, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return;
  Record* record = find(id);
  if (record == nullptr) return;
  record->owner = owner;
  tell_owner(id, record);
}

// A birth that was not told yet tells its owner itself.
void Recorder::tell_owner(uint32_t id, Record* record) {
  if (record == nullptr || !record->told || record->moving) return;
  moved_.push_back(id);
  record->moving = true;
}

void Recorder::drain_owners(News* news) {
  news->scopes.clear();
  news->kept.clear();
  for (const uint32_t id : moved_) {
    Record* record = find(id);
    if (record == nullptr || !record->moving) continue;
    record->moving = false;
    if (record->owner > kKept) news->scopes.push_back({id, record->owner});
    if (record->owner == kKept) news->kept.push_back(id);
  }
  moved_.clear();
}

void Recorder::untell(const News& news) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sites_told_ = shapes_told_ = labels_told_ = 0;
  touch_all();
  deaths_.reserve(deaths_.size() + news.deaths.size() + told_live_);
  deaths_.insert(deaths_.begin(), news.deaths.begin(), news.deaths.end());
  fresh_.reserve(fresh_.size() + news.births.size());
  for (const BirthEntry& birth : news.births) {
    Record* record = find(birth.id);
    if (record == nullptr || !record->told) continue;
    record->told = false;
    fresh_.push_back(birth.id);
    --told_live_;
    ++fresh_live_;
  }
  for (const ScopeEntry& entry : news.scopes) tell_owner(entry.id, find(entry.id));
  for (const uint32_t id : news.kept) tell_owner(id, find(id));
  for (const GraphRow& row : news.graphs) graphs_.try_emplace(row.site, row);
}

void Recorder::redraw() {
  const std::lock_guard<std::mutex> lock(mutex_);
  sites_told_ = shapes_told_ = labels_told_ = 0;
  touch_all();
  deaths_.clear();
  moved_.clear();
  fresh_.clear();
  fresh_live_ = told_live_ = 0;
  for (uint32_t i = 1; i < records_.end(); ++i) {
    Record& record = records_[i];
    if (!record.live) continue;
    record.told = record.moving = false;
    fresh_.push_back(uint32_t{record.generation} << kIndexBits | i);
    ++fresh_live_;
  }
}

void Recorder::touch_all() {
  for (uint32_t i = 1; i < cells_.size(); ++i) touch(i);
}

void Recorder::keep_living(std::vector<BirthEntry>* births) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto gone = [this](const BirthEntry& birth) {
    const Record* record = find(birth.id);
    return record == nullptr || !record->told;
  };
  births->erase(std::remove_if(births->begin(), births->end(), gone), births->end());
  for (BirthEntry& birth : *births) {
    birth.flags = static_cast<uint8_t>((birth.flags & (kView | kHasGraph)) | owner_flags(find(birth.id)->owner));
  }
}

size_t Recorder::bytes_for_news() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return (fresh_.size() + deaths_.size() + moved_.size()) * sizeof(uint32_t);
}

}  // namespace ltn::audit
