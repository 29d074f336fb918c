// The table of living records, and the counters of every site: what `audit.h` does, without file, thread and clock.
//
// Three kinds of things refer to each other by index (pools never move, 0 is "none"):
//   record   one living JS handle: when it was born, its cell, its storage
//   storage  one allocation: its bytes, and its living records from oldest to youngest
//   cell     counters of one (site, device), and its living records from oldest to youngest
// A storage's bytes are counted in the cell of its *oldest living record* (its owner). So when the base tensor of a
// cache of views is freed, the bytes move to the line that made the views, which is the line that holds them.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_RECORDER_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_RECORDER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/audit/audit.h"
#include "native/audit/capture_file.h"

namespace ltn::audit {

// Thread-safe: one lock around every operation, held for tens of nanoseconds and never while calling out.
class Recorder {
 public:
  struct SiteDefinition {
    uint32_t id;
    uint32_t parent;
    uint32_t env;
    std::string json;
  };

  Recorder();

  // `weight` is how many handles like this one the record stands for (1 unless sampled). `known_only` records the
  // handle only when its storage is recorded already (and with that storage's weight).
  uint32_t created(const Birth& birth, float weight, bool known_only, int64_t now_ms);
  void freed(uint32_t id) noexcept;
  void storage_resized(const void* storage, uint64_t bytes) noexcept;
  void storage_moved(uint32_t id, const void* storage, uint64_t bytes, bool is_new);
  void storage_released(const void* storage) noexcept;
  uint32_t pending(uint32_t env) const noexcept { return envs_[env % kEnvs].count.load(std::memory_order_relaxed); }
  void tag_pending(uint32_t env, uint32_t site);
  uint32_t define_site(uint32_t parent, uint32_t env, std::string json);

  // For the writer: the rows that changed since the last call, and the sites defined since then.
  void drain(std::vector<CellRow>* rows, std::vector<SiteDefinition>* sites);
  // The next drain tells everything again (a new capture starts).
  void redraw();
  // What the records themselves add up to; used where no totals reader is given.
  Totals recorded_totals() const;

 private:
  static constexpr uint32_t kIndexBits = 27;  // 134 million living records; the other 5 bits are a generation
  static constexpr uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr uint32_t kChunk = 4096;
  static constexpr uint32_t kEnvs = 1024;  // environment numbers are taken modulo this
  static constexpr int64_t kUnit = 256;    // counts of tensors are kept in 1/256, since weights are fractions

  struct List {
    uint32_t head = 0, tail = 0;
  };
  struct Record {
    int64_t birth_ms = 0;
    uint32_t cell = 0, cell_prev = 0, cell_next = 0;
    uint32_t storage = 0, storage_prev = 0, storage_next = 0;
    float weight = 1;
    uint16_t env = 0;
    uint8_t generation = 0;
    bool live = false, waiting = false;
    int8_t device_type = 0, device_index = -1, dtype = 0;
  };
  struct Storage {
    const void* identity = nullptr;
    uint64_t bytes = 0;
    float weight = 1;
    List records;
  };
  struct Cell {
    uint32_t site = 0;
    int8_t device_type = 0, device_index = -1;
    bool dirty = false;
    int64_t live_units = 0, live_bytes = 0, allocated_units = 0, allocated_bytes = 0;
    List records;
  };
  struct Waiting {
    uint32_t id;
    int64_t allocated_bytes;
  };
  struct Env {
    std::atomic<uint32_t> count{0};
    std::vector<Waiting> records;  // may hold freed ones until the next tag
  };

  template <typename T>
  class Pool {  // stable addresses, indices from 1, freed slots are used again
   public:
    T& operator[](uint32_t i) { return chunks_[i / kChunk][i % kChunk]; }
    const T& operator[](uint32_t i) const { return chunks_[i / kChunk][i % kChunk]; }
    uint32_t take() {
      if (!free_.empty()) {
        const uint32_t i = free_.back();
        free_.pop_back();
        return i;
      }
      if (next_ / kChunk >= chunks_.size()) {
        chunks_.push_back(std::make_unique<T[]>(kChunk));
        // So that `give` never has to allocate: it runs in finalizers.
        free_.reserve(chunks_.size() * kChunk);
      }
      return next_++;
    }
    void give(uint32_t i) noexcept { free_.push_back(i); }
    uint32_t end() const { return next_; }

   private:
    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<uint32_t> free_;
    uint32_t next_ = 1;
  };

  static int64_t units(float weight) noexcept { return static_cast<int64_t>(weight * kUnit + 0.5F); }
  static int64_t weigh(uint64_t bytes, float weight) noexcept {
    return weight == 1.0F ? static_cast<int64_t>(bytes) : static_cast<int64_t>(static_cast<double>(bytes) * weight);
  }

  Record* find(uint32_t id) noexcept;
  uint32_t cell_of(uint32_t site, int8_t device_type, int8_t device_index);
  void touch(uint32_t cell);
  void link_to_cell(uint32_t index, uint32_t cell);
  void unlink_from_cell(uint32_t index) noexcept;
  void link_to_storage(uint32_t index, uint32_t storage);
  void unlink_from_storage(uint32_t index) noexcept;
  void add_owned_bytes(uint32_t storage, int sign) noexcept;
  uint32_t new_storage(const void* identity, uint64_t bytes, float weight);
  void forget_storage(uint32_t storage) noexcept;

  mutable std::mutex mutex_;
  Pool<Record> records_;
  Pool<Storage> storages_;
  std::vector<Cell> cells_;  // index 0 unused
  std::vector<uint32_t> dirty_;
  std::unordered_map<const void*, uint32_t> by_identity_;
  std::unordered_map<uint64_t, uint32_t> by_site_and_device_;
  std::vector<SiteDefinition> sites_;  // id = index + 1; site 0 is "no stack"
  size_t sites_told_ = 0;
  std::array<Env, kEnvs> envs_;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_RECORDER_H_
