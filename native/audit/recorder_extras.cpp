// What the recorder knows besides tensors: storages that a handle owns without a tensor, lines that opened scopes,
// tokens.
#include <algorithm>

#include "native/audit/recorder.h"

namespace ltn::audit {

// Each part is a record that is not live, and only in the list of its storage. While it is the oldest record there, the
// bytes of the storage count for the cell of the handle.
void Recorder::holds(uint32_t id, const std::vector<Part>& parts, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return;
  Record* record = find(id);
  if (record == nullptr) return;
  const uint32_t index = id & kIndexMask;
  std::vector<uint32_t> links;
  links.reserve(parts.size());
  int64_t allocated = 0;
  try {
    for (const Part& part : parts) {
      const uint32_t link = records_.take();
      links.push_back(link);
      Record& inner = records_[link];
      const uint8_t generation = inner.generation;
      inner = Record{};
      inner.generation = generation;
      inner.birth_ms = record->birth_ms;
      inner.cell = record->cell;
      uint32_t storage = known_storage(part.storage);
      if (storage == 0) {
        storage = new_storage(part.storage, part.bytes, record->weight);
        allocated += weigh(part.bytes, record->weight);
      }
      link_to_storage(link, storage);
    }
  } catch (...) {  // out of memory: the handle is recorded without its parts
    for (const uint32_t link : links) {
      unlink_from_storage(link);
      records_.give(link);
    }
    throw;
  }
  // The old ones last: a storage that stays is never without a record.
  if (record->has_parts) drop_parts(index);
  record->has_parts = !links.empty();
  if (record->has_parts) parts_[index] = std::move(links);
  cells_[record->cell].allocated_bytes += allocated;
  touch(record->cell);
  if (!record->waiting) return;
  std::vector<Waiting>& waiting = envs_[record->env].records;
  const auto own = std::find_if(waiting.rbegin(), waiting.rend(), [id](const Waiting& one) { return one.id == id; });
  if (own != waiting.rend()) own->allocated_bytes += allocated;
}

void Recorder::move_parts(uint32_t index, uint32_t cell) {
  for (const uint32_t link : parts_[index]) {
    Record& part = records_[link];
    const bool owns = part.storage != 0 && storages_[part.storage].records.head == link;
    if (owns) add_owned_bytes(part.storage, -1);
    part.cell = cell;
    if (owns) add_owned_bytes(part.storage, +1);
  }
}

void Recorder::drop_parts(uint32_t index) noexcept {
  const auto found = parts_.find(index);
  if (found == parts_.end()) return;
  for (const uint32_t link : found->second) {
    unlink_from_storage(link);
    records_.give(link);
  }
  parts_.erase(found);
}

// Bytes of the parts that count for the handle.
uint64_t Recorder::part_bytes(uint32_t index) const {
  const auto found = records_[index].has_parts ? parts_.find(index) : parts_.end();
  if (found == parts_.end()) return 0;
  uint64_t sum = 0;
  for (const uint32_t link : found->second) {
    const uint32_t storage = records_[link].storage;
    if (storage != 0 && storages_[storage].records.head == link) sum += storages_[storage].bytes;
  }
  return sum;
}

void Recorder::scope_opened(uint32_t env, uint32_t scope, uint32_t site) {
  constexpr uint32_t kPlaceMask = (1U << 20) - 1;  // docs/capture-format.md, 14
  const uint64_t key = uint64_t{env} << 32 | (scope & kPlaceMask);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (site == 0) {
    const auto found = openings_.find(key);
    if (found == openings_.end() || found->second.scope != scope) return;
    openings_.erase(found);
    unwritten_openings_.erase(key);
    return;
  }
  openings_[key] = {scope, site, false};
  unwritten_openings_.insert(key);
}

void Recorder::environment_ended(uint32_t env) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = openings_.begin(); it != openings_.end();) {
    if (it->first >> 32 != env) {
      ++it;
      continue;
    }
    unwritten_openings_.erase(it->first);
    it = openings_.erase(it);
  }
}

uint32_t Recorder::token_offered(uint32_t site, uint32_t origin, uint64_t bytes, uint32_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_) return 0;
  if (tokens_.empty()) {
    tokens_.resize(1);
    dirty_tokens_.resize(1);
  }
  const auto [it, is_new] = token_rows_.try_emplace(uint64_t{site} << 32 | origin, 0);
  if (is_new) {
    it->second = static_cast<uint32_t>(tokens_.size());
    TokenRow row;
    row.site = site;
    row.origin = origin;
    tokens_.push_back(row);
    dirty_tokens_.push_back(false);
  }
  TokenRow& row = tokens_[it->second];
  ++row.made;
  ++row.waiting;
  row.waiting_bytes += bytes;
  dirty_tokens_[it->second] = tokens_changed_ = true;
  return it->second;
}

void Recorder::token_ended(uint32_t number, uint64_t bytes, bool taken, uint32_t capture) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture != capture_ || number == 0 || number >= tokens_.size()) return;
  TokenRow& row = tokens_[number];
  if (taken) ++row.taken;
  --row.waiting;
  row.waiting_bytes -= bytes;
  dirty_tokens_[number] = tokens_changed_ = true;
}

// Most scopes end within a round, so an opening is written only if its scope is still open a round later.
void Recorder::drain_extras(Changes* changes) {
  changes->openings.clear();
  std::unordered_set<uint64_t> young;
  for (const uint64_t key : unwritten_openings_) {
    const auto found = openings_.find(key);
    if (found == openings_.end()) continue;
    Opening& opening = found->second;
    if (opening.seen) {
      changes->openings.push_back({static_cast<uint32_t>(key >> 32), opening.scope, opening.site});
    } else {
      opening.seen = true;
      young.insert(key);
    }
  }
  unwritten_openings_.swap(young);
  changes->tokens.clear();
  if (!tokens_changed_) return;
  for (size_t i = 1; i < tokens_.size(); ++i) {
    if (dirty_tokens_[i]) changes->tokens.push_back(tokens_[i]);
    dirty_tokens_[i] = false;
  }
  tokens_changed_ = false;
}

// The next drain returns all again.
void Recorder::requeue_extras() {
  unwritten_openings_.clear();
  for (auto& [key, opening] : openings_) {
    opening.seen = true;
    unwritten_openings_.insert(key);
  }
  for (size_t i = 1; i < tokens_.size(); ++i) dirty_tokens_[i] = tokens_changed_ = true;
}

}  // namespace ltn::audit
