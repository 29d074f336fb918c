#include "native/audit/recorder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ltn::audit {

Recorder::Recorder() : cells_(1) {}

Recorder::Record* Recorder::find(uint32_t id) noexcept {
  const uint32_t index = id & kIndexMask;
  if (index == 0 || index >= records_.end()) return nullptr;
  Record& record = records_[index];
  return record.live && record.generation == id >> kIndexBits ? &record : nullptr;
}

uint32_t Recorder::site_of(uint32_t id) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Record* const record = find(id);
  return record == nullptr || record->cell == 0 ? 0 : cells_[record->cell].site;
}

uint32_t Recorder::cell_of(uint32_t site, uint32_t label, int8_t device_type, int8_t device_index) {
  const uint64_t key = uint64_t{site} << 32 | uint64_t{label & 0xFFFF} << 16 |
                       uint64_t{static_cast<uint8_t>(device_type)} << 8 | uint64_t{static_cast<uint8_t>(device_index)};
  const auto [it, is_new] = by_place_.try_emplace(key, 0);
  if (is_new) {
    it->second = static_cast<uint32_t>(cells_.size());
    Cell cell;
    cell.site = site;
    cell.label = label;
    cell.device_type = device_type;
    cell.device_index = device_index;
    cells_.push_back(cell);
    dirty_.reserve(cells_.capacity());  // so that `touch` never allocates: it runs in finalizers
  }
  return it->second;
}

void Recorder::touch(uint32_t cell) {
  if (cells_[cell].dirty) return;
  cells_[cell].dirty = true;
  dirty_.push_back(cell);
}

// Lists are in order of birth. A record is nearly always the youngest, so the walk from the tail is short.
void Recorder::link_to_cell(uint32_t index, uint32_t cell_index) {
  Record& record = records_[index];
  Cell& cell = cells_[cell_index];
  uint32_t after = cell.records.tail;
  while (after != 0 && records_[after].birth_ms > record.birth_ms) after = records_[after].cell_prev;
  record.cell = cell_index;
  record.cell_prev = after;
  record.cell_next = after != 0 ? records_[after].cell_next : cell.records.head;
  (record.cell_next != 0 ? records_[record.cell_next].cell_prev : cell.records.tail) = index;
  (after != 0 ? records_[after].cell_next : cell.records.head) = index;
  touch(cell_index);
}

void Recorder::unlink_from_cell(uint32_t index) noexcept {
  Record& record = records_[index];
  Cell& cell = cells_[record.cell];
  (record.cell_prev != 0 ? records_[record.cell_prev].cell_next : cell.records.head) = record.cell_next;
  (record.cell_next != 0 ? records_[record.cell_next].cell_prev : cell.records.tail) = record.cell_prev;
  touch(record.cell);
}

void Recorder::add_owned_bytes(uint32_t storage, int sign) noexcept {
  const Storage& s = storages_[storage];
  if (s.records.head == 0) return;
  const uint32_t cell = records_[s.records.head].cell;
  cells_[cell].live_bytes += sign * weigh(s.bytes, s.weight);
  touch(cell);
}

void Recorder::link_to_storage(uint32_t index, uint32_t storage_index) {
  Record& record = records_[index];
  Storage& storage = storages_[storage_index];
  add_owned_bytes(storage_index, -1);
  uint32_t after = storage.records.tail;
  while (after != 0 && records_[after].birth_ms > record.birth_ms) after = records_[after].storage_prev;
  record.storage = storage_index;
  record.storage_prev = after;
  record.storage_next = after != 0 ? records_[after].storage_next : storage.records.head;
  (record.storage_next != 0 ? records_[record.storage_next].storage_prev : storage.records.tail) = index;
  (after != 0 ? records_[after].storage_next : storage.records.head) = index;
  add_owned_bytes(storage_index, +1);
}

// Unlinks the record; the next oldest record becomes the owner. A storage without records is forgotten.
void Recorder::unlink_from_storage(uint32_t index) noexcept {
  Record& record = records_[index];
  const uint32_t storage_index = record.storage;
  if (storage_index == 0) return;
  Storage& storage = storages_[storage_index];
  add_owned_bytes(storage_index, -1);
  (record.storage_prev != 0 ? records_[record.storage_prev].storage_next : storage.records.head) = record.storage_next;
  (record.storage_next != 0 ? records_[record.storage_next].storage_prev : storage.records.tail) = record.storage_prev;
  record.storage = record.storage_prev = record.storage_next = 0;
  if (storage.records.head == 0) {
    forget_storage(storage_index);
  } else {
    add_owned_bytes(storage_index, +1);
  }
}

uint32_t Recorder::new_storage(const void* identity, uint64_t bytes, float weight) {
  const auto [it, is_new] = by_identity_.try_emplace(identity, 0);
  if (!is_new) forget_storage(it->second);  // its release was not reported: the address was reused
  const uint32_t index = storages_.take();
  by_identity_[identity] = index;
  storages_[index] = Storage{identity, bytes, weight, List{}};
  return index;
}

void Recorder::forget_storage(uint32_t index) noexcept {
  if (index == 0) return;
  add_owned_bytes(index, -1);
  Storage& storage = storages_[index];
  for (uint32_t i = storage.records.head; i != 0;) {
    Record& record = records_[i];
    i = record.storage_next;
    record.storage = record.storage_prev = record.storage_next = 0;
  }
  by_identity_.erase(storage.identity);
  storage = Storage{};
  storages_.give(index);
}

// Interned: a capture defines a shape once, births refer to its number.
uint32_t Recorder::shape_of(const Birth& birth) {
  if (birth.sizes == nullptr || birth.ndim > kMaxDims) return 0;
  uint64_t hash = 0xcbf29ce484222325u ^ birth.ndim;
  for (size_t i = 0; i < birth.ndim; ++i) {
    hash = (hash ^ static_cast<uint64_t>(birth.sizes[i])) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  for (;; ++hash) {
    const auto it = by_shape_.find(hash);
    if (it == by_shape_.end()) break;
    const std::vector<int64_t>& known = shapes_[it->second - 1].sizes;
    if (known.size() == birth.ndim && std::equal(known.begin(), known.end(), birth.sizes)) return it->second;
  }
  if (shapes_.size() == kMaxShapes) return 0;
  const auto id = static_cast<uint32_t>(shapes_.size() + 1);
  shapes_.push_back({id, std::vector<int64_t>(birth.sizes, birth.sizes + birth.ndim)});
  by_shape_[hash] = id;
  return id;
}

// In a loop that creates and frees many, most entries are dead.
void Recorder::purge_unwritten() {
  if (unwritten_.size() <= 2 * unwritten_live_ + 1024) return;
  const auto gone = [this](uint32_t id) { return find(id) == nullptr; };
  unwritten_.erase(std::remove_if(unwritten_.begin(), unwritten_.end(), gone), unwritten_.end());
}

uint32_t Recorder::known_storage(const void* identity) const {
  const auto it = by_identity_.find(identity);
  return it != by_identity_.end() ? it->second : 0;
}

// Adds a live record to `cell`, on `storage` (0: not known yet). 0 when there are too many.
uint32_t Recorder::add(const Birth& birth, float weight, uint32_t cell, uint32_t storage, int64_t birth_ms,
                       int64_t* allocated) {
  const uint32_t shape = shape_of(birth);
  purge_unwritten();
  const uint32_t index = records_.take();
  if (index > kIndexMask) {
    records_.give(index);
    return 0;
  }
  Record& record = records_[index];
  const auto generation = static_cast<uint8_t>((record.generation + 1) & 31);
  record = Record{};
  record.generation = generation;
  record.birth_ms = birth_ms;
  record.weight = weight;
  record.env = static_cast<uint16_t>(birth.env % kEnvs);
  record.owner = birth.owner;
  envs_[record.env].seen = true;
  record.live = true;
  record.device_type = birth.device_type;
  record.device_index = birth.device_index;
  record.dtype = birth.dtype;
  record.shape = shape;
  record.is_view = birth.storage != nullptr && !birth.storage_is_new;
  record.has_graph = birth.has_graph;
  const uint32_t id = uint32_t{generation} << kIndexBits | index;

  unwritten_.push_back(id);
  ++unwritten_live_;
  link_to_cell(index, cell);
  cells_[cell].live_units += units(weight);
  cells_[cell].allocated_units += units(weight);
  *allocated = 0;
  if (birth.storage != nullptr) {
    if (storage == 0) storage = new_storage(birth.storage, birth.storage_bytes, weight);
    if (birth.storage_is_new) *allocated = weigh(birth.storage_bytes, weight);
    cells_[cell].allocated_bytes += *allocated;
    link_to_storage(index, storage);
  }
  return id;
}

uint32_t Recorder::created(const Birth& birth, float weight, bool known_only, int64_t now_ms, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return 0;
  const uint32_t storage = birth.storage != nullptr && !birth.storage_is_new ? known_storage(birth.storage) : 0;
  if (storage == 0 && known_only) return 0;
  if (storage != 0) weight = storages_[storage].weight;

  const uint32_t cell = cell_of(0, 0, birth.device_type, birth.device_index);
  int64_t allocated = 0;
  const uint32_t id = add(birth, weight, cell, storage, now_ms, &allocated);
  if (id == 0) return 0;
  Record& record = records_[id & kIndexMask];
  record.waiting = true;
  Env& env = envs_[record.env];
  const uint32_t waiting = env.count.load(std::memory_order_relaxed);
  if (env.records.size() > 2 * size_t{waiting} + 64) {
    const auto gone = [this](const Waiting& w) { return find(w.id) == nullptr; };
    env.records.erase(std::remove_if(env.records.begin(), env.records.end(), gone), env.records.end());
  }
  env.records.push_back({id, allocated});
  env.count.store(waiting + 1, std::memory_order_relaxed);
  return id;
}

void Recorder::freed(uint32_t id, uint32_t capture) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return;
  Record* record = find(id);
  if (record == nullptr) return;
  const uint32_t index = id & kIndexMask;
  unlink_from_storage(index);
  if (record->has_parts) drop_parts(index);
  unlink_from_cell(index);
  cells_[record->cell].live_units -= units(record->weight);
  if (record->waiting) envs_[record->env].count.fetch_sub(1, std::memory_order_relaxed);
  if (record->written) {
    deaths_.push_back(id);
    --written_live_;
  } else {
    --unwritten_live_;
  }
  record->live = record->waiting = record->written = false;
  records_.give(index);
}

void Recorder::storage_resized(const void* identity, uint64_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = by_identity_.find(identity);
  if (it == by_identity_.end()) return;
  Storage& storage = storages_[it->second];
  add_owned_bytes(it->second, -1);
  if (bytes > storage.bytes && storage.records.head != 0) {
    cells_[records_[storage.records.head].cell].allocated_bytes += weigh(bytes - storage.bytes, storage.weight);
  }
  storage.bytes = bytes;
  add_owned_bytes(it->second, +1);
}

void Recorder::storage_moved(uint32_t id, const void* identity, uint64_t bytes, bool is_new, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return;
  Record* record = find(id);
  if (record == nullptr) return;
  const uint32_t index = id & kIndexMask;
  unlink_from_storage(index);
  if (identity == nullptr) return;
  uint32_t storage = is_new ? 0 : known_storage(identity);
  if (storage == 0) storage = new_storage(identity, bytes, record->weight);
  if (is_new) cells_[record->cell].allocated_bytes += weigh(bytes, record->weight);
  link_to_storage(index, storage);
}

void Recorder::storage_released(const void* identity) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = by_identity_.find(identity);
  if (it != by_identity_.end()) forget_storage(it->second);
}

void Recorder::collection_began(uint32_t env_number, int64_t ms) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  Env& env = envs_[env_number % kEnvs];
  env.collection_ms = std::max(env.collection_ms, ms);
}

int64_t Recorder::collected_everywhere() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Env& env : envs_) {
    if (env.seen) least = std::min(least, env.collection_ms);
  }
  return least == std::numeric_limits<int64_t>::max() ? std::numeric_limits<int64_t>::min() : least;
}

void Recorder::tag_pending(uint32_t env_number, uint32_t site, uint32_t label) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Env& env = envs_[env_number % kEnvs];
  for (const Waiting& waiting : env.records) {
    Record* record = find(waiting.id);
    if (record == nullptr || !record->waiting) continue;
    record->waiting = false;
    const uint32_t index = waiting.id & kIndexMask;
    const uint32_t from = record->cell;
    const uint32_t to = cell_of(site, label, record->device_type, record->device_index);
    const bool owns = record->storage != 0 && storages_[record->storage].records.head == index;
    if (owns) add_owned_bytes(record->storage, -1);
    unlink_from_cell(index);
    link_to_cell(index, to);
    if (owns) add_owned_bytes(record->storage, +1);
    if (record->has_parts) move_parts(index, to);
    cells_[from].live_units -= units(record->weight);
    cells_[from].allocated_units -= units(record->weight);
    cells_[from].allocated_bytes -= waiting.allocated_bytes;
    cells_[to].live_units += units(record->weight);
    cells_[to].allocated_units += units(record->weight);
    cells_[to].allocated_bytes += waiting.allocated_bytes;
  }
  env.records.clear();
  env.count.store(0, std::memory_order_relaxed);
}

uint32_t Recorder::define_site(uint32_t parent, uint32_t env, std::string json) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto id = static_cast<uint32_t>(sites_.size() + 1);
  sites_.push_back({id, parent, env, std::move(json)});
  return id;
}

uint32_t Recorder::define_label(std::string json) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (labels_.size() == kMaxLabels) return 0;
  const auto id = static_cast<uint32_t>(labels_.size() + 1);
  labels_.push_back({id, std::move(json)});
  return id;
}

Totals Recorder::recorded_totals() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Totals totals;
  for (const Cell& cell : cells_) {
    totals.tensors += static_cast<uint64_t>(cell.live_units / kUnit);
    totals.bytes += static_cast<uint64_t>(cell.live_bytes);
  }
  totals.storages = by_identity_.size();
  totals.allocated_bytes = totals.bytes;
  return totals;
}

}  // namespace ltn::audit
