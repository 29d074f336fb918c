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
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/audit/audit.h"
#include "native/audit/capture_file.h"
#include "native/audit/graphs.h"
#include "native/audit/made.h"

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
  struct ShapeDefinition {
    uint32_t id;
    std::vector<int64_t> sizes;
  };
  struct LabelDefinition {
    uint32_t id;
    std::string json;
  };
  // What a round has to tell.
  struct News {
    std::vector<SiteDefinition> sites;
    std::vector<ShapeDefinition> shapes;
    std::vector<LabelDefinition> labels;
    std::vector<CellRow> rows;       // that changed
    std::vector<BirthEntry> births;  // that outlived the interval; the others are in the rows alone
    std::vector<uint32_t> deaths;    // of births that were told
    std::vector<ScopeEntry> scopes;  // of told births that a scope owns, new ones and those that it got
    std::vector<uint32_t> kept;      // told births that left their scope for the collector
    std::vector<GraphRow> graphs;    // of sites that a census looked at
  };

  Recorder();

  // A new capture of this number: records are forgotten, stacks, shapes and labels are not. Calls for another capture
  // do nothing.
  void begin(uint32_t capture);

  // `weight` is how many handles like this one the record stands for (1 unless sampled). `known_only` records the
  // handle only when its storage is recorded already (and with that storage's weight).
  uint32_t created(const Birth& birth, float weight, bool known_only, int64_t now_ms, uint32_t capture = 0);
  // One that is older than the capture.
  uint32_t found(const Birth& birth, int64_t birth_ms, uint32_t capture = 0);
  void freed(uint32_t id, uint32_t capture = 0) noexcept;
  void storage_resized(const void* storage, uint64_t bytes) noexcept;
  void storage_moved(uint32_t id, const void* storage, uint64_t bytes, bool is_new, uint32_t capture = 0);
  void storage_released(const void* storage) noexcept;
  void moved(uint32_t id, uint32_t owner, uint32_t capture = 0);
  uint32_t pending(uint32_t env) const noexcept { return envs_[env % kEnvs].count.load(std::memory_order_relaxed); }
  // A full collection of this environment's heap began then.
  void collection_began(uint32_t env, int64_t ms) noexcept;
  // When the latest one began in the environment where that is longest ago; INT64_MIN where one had none.
  int64_t collected_everywhere() const;
  void tag_pending(uint32_t env, uint32_t site, uint32_t label = 0);
  uint32_t define_site(uint32_t parent, uint32_t env, std::string json);
  // 0, which is no label, when there are too many.
  uint32_t define_label(std::string json);

  // What graphs hold (graphs.h). A later row of a site replaces one that was not told yet.
  void places_of(const uint32_t* records, size_t count, BirthPlace* places, uint32_t capture) noexcept;
  void tell_graphs(const std::vector<GraphRow>& rows, uint32_t capture);
  uint32_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

  // For the writer: what happened since the last call.
  void drain(News* news);
  // These news did not arrive: the next drain tells them again.
  void untell(const News& news);
  // The next drain tells everything again (a new capture starts).
  void redraw();
  // Leaves those births that were told and still live, with who owns them now.
  void keep_living(std::vector<BirthEntry>* births);
  // The counters of the cells that hold most, at most so many.
  std::vector<CellRow> holding_most(size_t most) const;
  Made made() const noexcept;
  // Of a living record; 0 for any other.
  uint32_t site_of(uint32_t id) noexcept;
  // A site's stack, as it was defined; "" for one that is unknown.
  std::string site_json(uint32_t id) const;
  // What is kept for the next drain.
  size_t bytes_for_news() const;
  // What the records themselves add up to; used where no totals reader is given.
  Totals recorded_totals() const;

 private:
  static constexpr uint32_t kIndexBits = 27;  // 134 million living records; the other 5 bits are a generation
  static constexpr uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr uint32_t kChunk = 4096;
  static constexpr uint32_t kEnvs = 1024;  // environment numbers are taken modulo this
  static constexpr uint32_t kMostShapes = 65536, kMostLabels = 65535, kMostDims = 64;
  static constexpr int64_t kUnit = 256;  // counts of tensors are kept in 1/256, since weights are fractions

  struct List {
    uint32_t head = 0, tail = 0;
  };
  struct Record {
    int64_t birth_ms = 0;
    uint32_t cell = 0, cell_prev = 0, cell_next = 0;
    uint32_t storage = 0, storage_prev = 0, storage_next = 0;
    uint32_t shape = 0;
    uint32_t owner = kCollector;
    float weight = 1;
    uint16_t env = 0;
    uint8_t generation = 0;
    bool live : 1, waiting : 1, told : 1, is_view : 1, moving : 1, has_graph : 1;
    int8_t device_type = 0, device_index = -1, dtype = 0;
    Record() : live(false), waiting(false), told(false), is_view(false), moving(false), has_graph(false) {}
  };

  struct Storage {
    const void* identity = nullptr;
    uint64_t bytes = 0;
    float weight = 1;
    List records;
  };
  struct Cell {
    uint32_t site = 0, label = 0;
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
    bool seen = false;             // births came from it
    int64_t collection_ms = std::numeric_limits<int64_t>::min();
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
    void clear() { *this = Pool(); }
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
  uint32_t add(const Birth& birth, float weight, uint32_t cell, uint32_t storage, int64_t birth_ms, int64_t* allocated);
  uint32_t known_storage(const void* identity) const;
  CellRow row_of(const Cell& cell) const;
  uint32_t cell_of(uint32_t site, uint32_t label, int8_t device_type, int8_t device_index);
  uint32_t shape_of(const Birth& birth);
  void purge_fresh();
  void drain_rows(std::vector<CellRow>* rows);
  void drain_births(News* news);
  void drain_owners(News* news);
  void tell_owner(uint32_t id, Record* record);
  void touch_all();
  void touch(uint32_t cell);
  void link_to_cell(uint32_t index, uint32_t cell);
  void unlink_from_cell(uint32_t index) noexcept;
  void link_to_storage(uint32_t index, uint32_t storage);
  void unlink_from_storage(uint32_t index) noexcept;
  void add_owned_bytes(uint32_t storage, int sign) noexcept;
  uint32_t new_storage(const void* identity, uint64_t bytes, float weight);
  void forget_storage(uint32_t storage) noexcept;

  mutable std::mutex mutex_;
  uint32_t capture_ = 0;
  uint32_t site_before_ = 0;  // of what is older than the capture; 0: nothing was so far
  Pool<Record> records_;
  Pool<Storage> storages_;
  std::vector<Cell> cells_;  // index 0 unused
  std::vector<uint32_t> dirty_;
  std::unordered_map<const void*, uint32_t> by_identity_;
  std::unordered_map<uint64_t, uint32_t> by_place_;  // site, label and device
  std::unordered_map<uint64_t, uint32_t> by_shape_;  // by hash
  std::vector<SiteDefinition> sites_;                // id = index + 1; site 0 is "no stack"
  std::vector<ShapeDefinition> shapes_;              // likewise
  std::vector<LabelDefinition> labels_;
  size_t sites_told_ = 0, shapes_told_ = 0, labels_told_ = 0;
  // Ids of births that were not told yet; some are dead since. And of deaths that were not told: there is room for
  // those of all told births, since `freed` runs in finalizers and must not allocate.
  std::vector<uint32_t> fresh_, deaths_;
  std::vector<uint32_t> moved_;          // told births whose owner was not told; some are dead since
  std::map<uint32_t, GraphRow> graphs_;  // by site, not told yet
  std::atomic<uint32_t> rounds_{0};      // news that were asked for
  uint64_t fresh_live_ = 0, told_live_ = 0;
  std::array<Env, kEnvs> envs_;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_RECORDER_H_
