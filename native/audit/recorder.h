// The table of live records and the counters of each site: the implementation of `audit.h` without file, thread and
// clock.
//
// Three kinds of objects refer to each other by index (pools never move, 0 is "none"):
//   record   one live JS handle: its birth time, its cell, its storage
//   storage  one allocation: its bytes, and its live records from oldest to youngest
//   cell     counters of one (site, label, device), and its live records from oldest to youngest
// A storage's bytes are counted in the cell of its *oldest live record* (its owner). So when the base tensor of a
// cache of views is freed, the bytes move to the line that created the views, which is the line that holds them.
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
#include <unordered_set>
#include <vector>

#include "native/audit/audit.h"
#include "native/audit/capture_file.h"
#include "native/audit/created_totals.h"
#include "native/audit/graphs.h"
#include "native/audit/tokens.h"

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
  // What changed since the last round.
  struct Changes {
    std::vector<SiteDefinition> sites;
    std::vector<ShapeDefinition> shapes;
    std::vector<LabelDefinition> labels;
    std::vector<CellRow> rows;           // changed counters
    std::vector<BirthEntry> births;      // that outlived the interval; the others are only in the rows
    std::vector<uint32_t> deaths;        // of written births
    std::vector<ScopeEntry> scopes;      // written births that a scope owns: new ones, and those it got since
    std::vector<uint32_t> kept;          // written births that left their scope for the collector
    std::vector<GraphRow> graphs;        // of sites that a census counted
    std::vector<OpeningEntry> openings;  // lines that opened scopes
    std::vector<TokenRow> tokens;        // changed counters of tokens
  };

  Recorder();

  // Starts the capture of this number: drops records; keeps stacks, shapes and labels. Calls for another capture do
  // nothing.
  void begin(uint32_t capture);

  // `weight` is the number of handles that the record represents (1 unless sampled). `known_only` records the
  // handle only when its storage is recorded already (and with that storage's weight).
  uint32_t created(const Birth& birth, float weight, bool known_only, int64_t now_ms, uint32_t capture = 0);
  // Records a handle older than the capture.
  uint32_t found(const Birth& birth, int64_t birth_ms, uint32_t capture = 0);
  void freed(uint32_t id, uint32_t capture = 0) noexcept;
  void storage_resized(const void* storage, uint64_t bytes) noexcept;
  void storage_moved(uint32_t id, const void* storage, uint64_t bytes, bool is_new, uint32_t capture = 0);
  void storage_released(const void* storage) noexcept;
  void moved(uint32_t id, uint32_t owner, uint32_t capture = 0);
  // The storages inside a handle without its own. Of each, the bytes count for the handle's site.
  void holds(uint32_t id, const std::vector<Part>& parts, uint32_t capture = 0);
  void scope_opened(uint32_t env, uint32_t scope, uint32_t site);
  // Its scopes and their numbers are gone.
  void environment_ended(uint32_t env) noexcept;
  // Tokens (tokens.h). The first returns the number of a row; the others do nothing for another capture.
  uint32_t token_offered(uint32_t site, uint32_t origin, uint64_t bytes, uint32_t capture = 0);
  void token_ended(uint32_t row, uint64_t bytes, bool taken, uint32_t capture = 0) noexcept;
  uint32_t pending(uint32_t env) const noexcept { return envs_[env % kEnvs].count.load(std::memory_order_relaxed); }
  // A full collection of this environment's heap began at `ms`.
  void collection_began(uint32_t env, int64_t ms) noexcept;
  // The minimum over all environments of the start of their latest full collection; INT64_MIN if one had none.
  int64_t collected_everywhere() const;
  void tag_pending(uint32_t env, uint32_t site, uint32_t label = 0);
  uint32_t define_site(uint32_t parent, uint32_t env, std::string json);
  // 0 (no label) when there are too many.
  uint32_t define_label(std::string json);

  // What graphs hold (graphs.h). A later row of a site replaces one that was not written yet.
  void births_of(const uint32_t* records, size_t count, BirthInfo* births, uint32_t capture) noexcept;
  void add_graphs(const std::vector<GraphRow>& rows, uint32_t capture);
  uint32_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

  // For the writer: the changes since the last call.
  void drain(Changes* changes);
  // These changes could not be written: the next drain returns them again.
  void requeue(const Changes& changes);
  // The next drain returns everything again (a new capture starts).
  void requeue_all();
  // Removes the dead and the unwritten from `births`, and updates the owners of the rest.
  void keep_live(std::vector<BirthEntry>* births);
  // The counters of the cells that hold most, at most `max` of them.
  std::vector<CellRow> holding_most(size_t max) const;
  CreatedTotals created_totals() const noexcept;
  // The site of a live record; 0 for any other.
  uint32_t site_of(uint32_t id) noexcept;
  // A site's stack as passed to `define_site`; "" if it is unknown.
  std::string site_json(uint32_t id) const;
  // Bytes kept for the next drain.
  size_t pending_bytes() const;
  // The sum over the records; used if no totals reader is given.
  Totals recorded_totals() const;

 private:
  static constexpr uint32_t kIndexBits = 27;  // 134 million live records; the other 5 bits are a generation
  static constexpr uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr uint32_t kChunk = 4096;
  static constexpr uint32_t kEnvs = 1024;  // environment numbers are taken modulo this
  static constexpr uint32_t kMaxShapes = 65536, kMaxLabels = 65535, kMaxDims = 64;
  static constexpr int64_t kUnit = 256;  // tensor counts are in units of 1/256, since weights are fractions

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
    bool live : 1, waiting : 1, written : 1, is_view : 1, owner_queued : 1, has_graph : 1, has_parts : 1;
    int8_t device_type = 0, device_index = -1, dtype = 0;
    Record()
        : live(false),
          waiting(false),
          written(false),
          is_view(false),
          owner_queued(false),
          has_graph(false),
          has_parts(false) {}
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
  struct Opening {
    uint32_t scope = 0, site = 0;
    bool seen = false;  // it was open at an earlier drain
  };
  struct Waiting {
    uint32_t id;
    int64_t allocated_bytes;
  };
  struct Env {
    std::atomic<uint32_t> count{0};
    std::vector<Waiting> records;  // may hold freed ones until the next tag
    bool seen = false;             // it had a birth
    int64_t collection_ms = std::numeric_limits<int64_t>::min();
  };

  template <typename T>
  class Pool {  // stable addresses, indices from 1, freed slots are reused
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
  void purge_unwritten();
  void drain_rows(std::vector<CellRow>* rows);
  void drain_births(Changes* changes);
  void drain_owners(Changes* changes);
  void queue_owner(uint32_t id, Record* record);
  void touch_all();
  void touch(uint32_t cell);
  void link_to_cell(uint32_t index, uint32_t cell);
  void unlink_from_cell(uint32_t index) noexcept;
  void link_to_storage(uint32_t index, uint32_t storage);
  void unlink_from_storage(uint32_t index) noexcept;
  void add_owned_bytes(uint32_t storage, int sign) noexcept;
  void move_parts(uint32_t index, uint32_t cell);
  void drop_parts(uint32_t index) noexcept;
  uint64_t part_bytes(uint32_t index) const;
  void drain_extras(Changes* changes);
  void requeue_extras();
  uint32_t new_storage(const void* identity, uint64_t bytes, float weight);
  void forget_storage(uint32_t storage) noexcept;

  mutable std::mutex mutex_;
  uint32_t capture_ = 0;
  uint32_t site_before_ = 0;  // the site of handles older than the capture; 0: none so far
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
  size_t sites_written_ = 0, shapes_written_ = 0, labels_written_ = 0;
  // Ids of unwritten births (some are dead since) and of unwritten deaths. `deaths_` has room for all written births,
  // since `freed` runs in finalizers and must not allocate.
  std::vector<uint32_t> unwritten_, deaths_;
  std::vector<uint32_t> owner_queue_;    // written births with an unwritten owner; some are dead since
  std::map<uint32_t, GraphRow> graphs_;  // by site, not written yet
  // Records of the storages inside a handle without its own, by its index. They are not live: only its bytes need them.
  std::unordered_map<uint32_t, std::vector<uint32_t>> parts_;
  // By environment and place in its table of scopes, so that a later scope there replaces it.
  std::unordered_map<uint64_t, Opening> openings_;
  std::unordered_set<uint64_t> unwritten_openings_;
  std::vector<TokenRow> tokens_;  // index 0 unused
  std::vector<bool> dirty_tokens_;
  std::unordered_map<uint64_t, uint32_t> token_rows_;  // by site and origin
  bool tokens_changed_ = false;
  std::atomic<uint32_t> rounds_{0};  // number of drains
  uint64_t unwritten_live_ = 0, written_live_ = 0;
  std::array<Env, kEnvs> envs_;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_RECORDER_H_
