#include "native/share/token_table.h"

#include <utility>

namespace ltn::share {
namespace {

constexpr uint64_t kIdMask = (uint64_t{1} << 53) - 1;

uint64_t bytes_of(const at::Tensor& tensor) {
  return tensor.has_storage() && !tensor.is_meta() ? tensor.storage().nbytes() : 0;
}

}  // namespace

uint64_t TokenTable::make_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

void TokenTable::move_out(Entries::iterator entry, Entries& to) noexcept {
  bytes_ -= entry->second.bytes;
  audit::token_expired(entry->second.counted, entry->second.bytes);
  count_.fetch_sub(1, std::memory_order_relaxed);
  to.insert(entries_.extract(entry));
}

template <class Dead>
void TokenTable::remove_if(Dead dead) noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  Entries removed;  // outlives the lock: freeing a tensor may take long and calls its allocator
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (dead(entry->second)) move_out(entry, removed);
    entry = next;
  }
}

TokenId TokenTable::add(Offer offer, const std::shared_ptr<const void>& store, uint32_t environment, uint32_t site,
                        uint32_t record) {
  const uint64_t bytes = bytes_of(offer.tensor);
  Entry entry{std::move(offer), bytes, store, store != nullptr, environment, {}};
  bytes_since_sweep_.fetch_add(bytes + kTokenBytes, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(mutex_);
  TokenId id = 0;
  while (id == 0 || entries_.count(id) != 0) id = random_() & kIdMask;
  Entry& added = entries_.emplace(id, std::move(entry)).first->second;
  added.counted = audit::offered_token(site, record, bytes);
  bytes_ += bytes;
  count_.fetch_add(1, std::memory_order_relaxed);
  return id;
}

std::optional<Offer> TokenTable::take(TokenId id, const std::shared_ptr<const void>& store) {
  Entries removed;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = found->second;
  // The caller holds the memory it passes, so a weak reference to the same memory has not expired.
  if (entry.has_store && (store == nullptr || entry.store.lock() != store)) return std::nullopt;
  std::optional<Offer> offer = entry.offer;
  audit::token_taken(entry.counted, entry.bytes);
  entry.counted = {};
  if (!entry.has_store) move_out(found, removed);
  return offer;
}

bool TokenTable::revoke(TokenId id) noexcept {
  Entries removed;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  move_out(found, removed);
  return true;
}

void TokenTable::sweep_expired() noexcept {
  bytes_since_sweep_.store(0, std::memory_order_relaxed);
  remove_if([](const Entry& entry) { return entry.has_store && entry.store.expired(); });
}

void TokenTable::end_environment(uint32_t environment) noexcept {
  remove_if([environment](const Entry& entry) {
    return entry.has_store ? entry.store.expired() : entry.environment == environment;
  });
}

TableTotals TokenTable::totals() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {entries_.size(), bytes_};
}

TokenTable& process_tokens() {
  // Never destroyed: libtorch's own statics may be destroyed earlier.
  static auto* tokens = new TokenTable;  // owned by the process
  return *tokens;
}

}  // namespace ltn::share
