#include "native/accounting/storage_ledger.h"

#include <c10/core/Device.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "native/accounting/cpu_allocator.h"

namespace ltn::accounting {
namespace {

constexpr unsigned kShardBits = 4;
constexpr size_t kShards = size_t{1} << kShardBits;

std::atomic<void (*)(void*)> process_borrowed_deleter{nullptr};
std::atomic<int64_t> process_storageless{0};
std::atomic<uint64_t> process_next_id{1};

// Held for tens of nanoseconds and almost never contended; a std::mutex costs three times as much here.
class SpinLock {
 public:
  void lock() noexcept {
    for (int tries = 0; flag_.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries >= 64) std::this_thread::yield();  // the holder may have been preempted: more threads than cores
    }
  }
  void unlock() noexcept { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

using Locked = std::lock_guard<SpinLock>;

uint64_t mix(const void* key) noexcept {
  auto x = reinterpret_cast<uint64_t>(key);
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  return x;
}

uint64_t charge_of(const c10::StorageImpl* storage, bool borrowed) noexcept {
  if (borrowed) return 0;
  const auto bytes = storage->sym_nbytes();
  if (bytes.is_symbolic()) return 0;  // a symbolic size has no memory
  // A size without memory: meta tensors, and autograd's efficient zero tensors (_efficientzerotensor).
  if (storage->data_ptr().get() == nullptr) return 0;
  return static_cast<uint64_t>(bytes.as_int_unchecked());
}

// Open addressing with linear probing over stable entries. Everything below is guarded by `lock`.
struct Shard {
  SpinLock lock;
  std::vector<StorageEntry*> table = std::vector<StorageEntry*>(64, nullptr);
  size_t used = 0;
  std::deque<StorageEntry> pool;  // stable addresses, reused through next_free
  StorageEntry* free = nullptr;
  uint64_t tensors = 0, bytes = 0;

  size_t home(const void* key) const noexcept { return (mix(key) >> kShardBits) & (table.size() - 1); }

  StorageEntry* find(const void* key) const noexcept {
    for (size_t i = home(key);; i = (i + 1) & (table.size() - 1)) {
      if (table[i] == nullptr || table[i]->key == key) return table[i];
    }
  }

  void place(StorageEntry* entry) noexcept {
    size_t i = home(entry->key);
    while (table[i] != nullptr) i = (i + 1) & (table.size() - 1);
    table[i] = entry;
  }

  // Does everything that may throw, before anything changes.
  void make_room() {
    if ((used + 1) * 2 > table.size()) {
      std::vector<StorageEntry*> old(table.size() * 2, nullptr);
      old.swap(table);
      for (StorageEntry* e : old) {
        if (e != nullptr) place(e);
      }
    }
    if (free == nullptr) {
      free = &pool.emplace_back();
      free->next_free = nullptr;
    }
  }

  void insert(StorageEntry* entry) noexcept {
    place(entry);
    ++used;
  }

  // Backward-shift deletion preserves probe sequences without tombstones.
  void erase(const void* key) noexcept {
    const size_t mask = table.size() - 1;
    size_t hole = home(key);
    while (table[hole]->key != key) hole = (hole + 1) & mask;
    for (size_t i = (hole + 1) & mask; table[i] != nullptr; i = (i + 1) & mask) {
      if (((i - home(table[i]->key)) & mask) >= ((i - hole) & mask)) {
        table[hole] = table[i];
        hole = i;
      }
    }
    table[hole] = nullptr;
    --used;
  }

  StorageEntry* take() noexcept {
    StorageEntry* entry = free;
    free = entry->next_free;
    return entry;
  }

  // Updates the entry from its storage, and returns the difference in bytes.
  int64_t recharge(StorageEntry* entry) noexcept {
    const auto deleter = entry->key->data_ptr().get_deleter();
    entry->borrowed = deleter != nullptr && deleter == process_borrowed_deleter.load(std::memory_order_relaxed);
    const uint64_t now = charge_of(entry->key, entry->borrowed);
    const auto difference = static_cast<int64_t>(now) - static_cast<int64_t>(entry->bytes);
    bytes += static_cast<uint64_t>(difference);
    entry->bytes = now;
    return difference;
  }
};

std::array<Shard, kShards>& process_shards() {
  // Never destroyed: handles may be freed by static destructors of other libraries.
  static auto* shards = new std::array<Shard, kShards>;  // owned by the process
  return *shards;
}

// The totals of all environments. Guarded by its lock.
struct SoleList {
  SpinLock lock;
  std::vector<const SoleTotals*> totals;
};

SoleList& process_sole() {
  static auto* list = new SoleList;  // never destroyed, as the shards
  return *list;
}

// Adds the storages held by slots of all environments without an entry.
void add_sole(uint64_t* storages, uint64_t* bytes) noexcept {
  SoleList& list = process_sole();
  Locked locked(list.lock);
  for (const SoleTotals* totals : list.totals) {
    *storages += totals->storages.load(std::memory_order_relaxed);
    *bytes += totals->bytes.load(std::memory_order_relaxed);
  }
}

Shard& shard_of(const void* key) { return process_shards()[mix(key) & (kShards - 1)]; }

// Adds a handle of `account` to an entry that others hold. Changes nothing if it throws.
void add_holder(StorageEntry& entry, ExternalMemory& account) {
  if (entry.holders == nullptr) {
    if (entry.owner == &account) return;
    entry.holders = std::make_unique<std::vector<Holder>>(
        std::initializer_list<Holder>{{entry.owner, entry.handles}, {&account, 1}});
    return;
  }
  for (Holder& holder : *entry.holders) {
    if (holder.account == &account) {
      ++holder.handles;
      return;
    }
  }
  entry.holders->push_back({&account, 1});
}

// The size of the entry's storage changed by `difference`, as found by `account`: reports it to the charged
// environment.
void charge_owner(StorageEntry& entry, ExternalMemory& account, int64_t difference, Change* change) noexcept {
  if (difference == 0) return;
  change->resized = true;
  if (entry.owner == &account) {
    change->bytes = difference;
  } else {
    entry.owner->add_from_other_thread(difference);
  }
}

// Removes a handle of `account` from an entry held by several environments. Returns the bytes to add to `account`.
int64_t drop_holder(StorageEntry& entry, ExternalMemory& account) noexcept {
  std::vector<Holder>& holders = *entry.holders;
  size_t i = 0;
  while (holders[i].account != &account) ++i;
  if (--holders[i].handles > 0) return 0;
  holders[i] = holders.back();
  holders.pop_back();
  if (entry.owner != &account) return 0;
  entry.owner = holders.front().account;
  entry.owner->add_from_other_thread(static_cast<int64_t>(entry.bytes));
  return -static_cast<int64_t>(entry.bytes);
}

}  // namespace

StorageEntry* acquire(c10::StorageImpl* storage, ExternalMemory& account, Change* change, bool is_tensor) {
  Shard& shard = shard_of(storage);
  Locked locked(shard.lock);
  StorageEntry* entry = shard.find(storage);
  if (entry == nullptr) {
    shard.make_room();
    entry = shard.take();
    entry->key = storage;
    entry->id = process_next_id.fetch_add(1, std::memory_order_relaxed);
    auto strong = c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage);  // borrowed: released below
    entry->weak = c10::weak_intrusive_ptr<c10::StorageImpl>(strong);
    static_cast<void>(strong.release());
    entry->handles = 0;
    entry->tensors = 0;
    entry->owner = &account;
    entry->bytes = 0;
    change->bytes = shard.recharge(entry);
    entry->device_type = static_cast<int8_t>(storage->device().type());
    entry->device_index = static_cast<int8_t>(storage->device().index());
    shard.insert(entry);
    change->first = true;
  } else {
    if (entry->owner != &account || entry->holders != nullptr) add_holder(*entry, account);
    // It may have been resized through a tensor without a handle, or as the target of a larger set_.
    charge_owner(*entry, account, shard.recharge(entry), change);
  }
  ++entry->handles;
  entry->tensors += is_tensor;
  shard.tensors += is_tensor;
  return entry;
}

Change release(StorageEntry* entry, ExternalMemory& account, bool is_tensor) noexcept {
  Change change;
  std::unique_ptr<std::vector<Holder>> holders;
  c10::weak_intrusive_ptr<c10::StorageImpl> weak{c10::intrusive_ptr<c10::StorageImpl>()};
  Shard& shard = shard_of(entry->key);
  {
    Locked locked(shard.lock);
    entry->tensors -= is_tensor;
    shard.tensors -= is_tensor;
    --entry->handles;
    if (entry->holders != nullptr) {
      change.bytes = drop_holder(*entry, account);
      if (entry->holders->size() == 1) holders = std::move(entry->holders);  // freed outside the lock
    }
    if (entry->handles != 0) return change;
    change.last = true;
    change.bytes = -static_cast<int64_t>(entry->bytes);
    shard.bytes -= entry->bytes;
    shard.erase(entry->key);
    weak = std::move(entry->weak);  // freed outside the lock
    entry->key = nullptr;
    entry->next_free = shard.free;
    shard.free = entry;
  }
  return change;
}

Change refresh(StorageEntry* entry, ExternalMemory& account) noexcept {
  Change change;
  Shard& shard = shard_of(entry->key);
  Locked locked(shard.lock);
  charge_owner(*entry, account, shard.recharge(entry), &change);
  return change;
}

bool has_handles(const c10::StorageImpl* storage) noexcept {
  Shard& shard = shard_of(storage);
  Locked locked(shard.lock);
  return shard.find(storage) != nullptr;
}

void add_sole_totals(const SoleTotals* totals) {
  SoleList& list = process_sole();
  Locked locked(list.lock);
  list.totals.push_back(totals);
}

void remove_sole_totals(const SoleTotals* totals) noexcept {
  SoleList& list = process_sole();
  Locked locked(list.lock);
  list.totals.erase(std::remove(list.totals.begin(), list.totals.end(), totals), list.totals.end());
}

bool is_plain_cpu(const c10::StorageImpl* storage) noexcept {
  return storage->data_ptr().get_deleter() == counted_deleter();
}

void count_storageless(int64_t delta) noexcept { process_storageless.fetch_add(delta, std::memory_order_relaxed); }

void set_borrowed_deleter(void (*deleter)(void*)) noexcept {
  process_borrowed_deleter.store(deleter, std::memory_order_relaxed);
}

void ledger_sums(uint64_t* tensors, uint64_t* storages, uint64_t* bytes) noexcept {
  *tensors = static_cast<uint64_t>(process_storageless.load(std::memory_order_relaxed));
  *storages = 0;
  *bytes = 0;
  for (Shard& shard : process_shards()) {
    Locked locked(shard.lock);
    *tensors += shard.tensors;
    *storages += shard.used;
    *bytes += shard.bytes;
  }
  uint64_t sole = 0;
  add_sole(&sole, bytes);
  *tensors += sole;
  *storages += sole;
}

LedgerTotals ledger_totals() {
  LedgerTotals totals;
  std::map<std::pair<int8_t, int8_t>, DeviceTotals> by_device;
  totals.tensors = static_cast<uint64_t>(process_storageless.load(std::memory_order_relaxed));
  for (Shard& shard : process_shards()) {
    Locked locked(shard.lock);
    totals.tensors += shard.tensors;
    totals.storages += shard.used;
    totals.bytes += shard.bytes;
    for (const StorageEntry* entry : shard.table) {
      if (entry == nullptr) continue;
      DeviceTotals& device = by_device[{entry->device_type, entry->device_index}];
      device.tensors += entry->tensors;
      device.storages += 1;
      device.bytes += entry->bytes;
    }
  }
  uint64_t sole = 0;
  uint64_t sole_bytes = 0;
  add_sole(&sole, &sole_bytes);
  totals.tensors += sole;
  totals.storages += sole;
  totals.bytes += sole_bytes;
  if (sole != 0) {
    DeviceTotals& cpu = by_device[{static_cast<int8_t>(c10::DeviceType::CPU), int8_t{-1}}];
    cpu.tensors += sole;
    cpu.storages += sole;
    cpu.bytes += sole_bytes;
  }
  for (auto& [key, device] : by_device) {
    device.device =
        c10::Device(static_cast<c10::DeviceType>(key.first), static_cast<c10::DeviceIndex>(key.second)).str();
    totals.devices.push_back(std::move(device));
  }
  return totals;
}

}  // namespace ltn::accounting
