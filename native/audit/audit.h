// The recorder's interface for the handles layer.
//
// All state behind these functions is process-wide (one capture per process, whatever the number of environments) and
// every function may be called from any thread. Nothing here calls JavaScript, and nothing here is called while it
// holds a lock that a caller could hold, so `freed` is safe in a finalizer that runs inside a collection.
//
// When the audit is off, the handles layer pays for `enabled()`: one relaxed load and one predictable branch.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_AUDIT_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_AUDIT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ltn::audit {

// Process-wide: true between `start` and `stop`.
extern std::atomic<bool> process_on;

inline bool recording() noexcept { return process_on.load(std::memory_order_relaxed); }

// Process-wide: the number of the running capture, never reused; 0 while none records births (off, or `counters`).
extern std::atomic<uint32_t> process_capture;

inline uint32_t capture() noexcept { return process_capture.load(std::memory_order_acquire); }

// Process-wide: the number of listeners for births: the recorder, and each environment that watches its own
// (handles/watch.h). The recorder does not listen in `counters` mode, where accounting has the totals.
extern std::atomic<uint32_t> process_listeners;
inline void listen(bool on) noexcept { process_listeners.fetch_add(on ? 1u : ~0u, std::memory_order_relaxed); }

// Whether anyone listens for births.
inline bool enabled() noexcept { return __builtin_expect(process_listeners.load(std::memory_order_relaxed) != 0, 0); }

// Owner of a handle. Scopes have larger numbers: the low 32 bits of their ids.
inline constexpr uint32_t kCollector = 0;  // created outside every scope
inline constexpr uint32_t kKept = 1;       // kept: it left its scope and is left to the collector

// What the handles layer reports for a new JS handle. Pointers are only read during the call.
struct Birth {
  const void* storage = nullptr;  // opaque identity, stable for the storage's life; nullptr if the tensor has none
  uint64_t storage_bytes = 0;     // bytes of the whole storage now
  bool storage_is_new = false;    // this is the first handle on that storage
  int8_t device_type = 0;         // c10::DeviceType
  int8_t device_index = -1;       // c10::DeviceIndex, -1 if the device has none
  int8_t dtype = 0;               // c10::ScalarType
  const int64_t* sizes = nullptr;
  size_t ndim = 0;
  uint32_t env = 0;             // number of the environment (thread)
  uint32_t owner = kCollector;  // or kKept, or a scope's number
  bool has_graph = false;       // it has a grad_fn
};

// Each capture starts with an empty set of records. Whoever stores a record id also stores its capture; a call for
// another capture does nothing. A table that sees a new capture first reports everything it holds (`found`), so that
// the capture starts with the existing handles.

// Whether to record a new storage of this size: always in `full` mode, if sampled in `sample` mode. Called once per
// storage; pass `weight` to `created`. Takes no lock.
bool draws(uint64_t storage_bytes, float* weight) noexcept;

// Records a birth and marks it as waiting for its stack in `birth.env`. Returns the record's id (never 0), or 0 if the
// handle is not recorded (another capture, or not sampled). `weight` is the one from `draws` for its new storage, or 0
// if `draws` was not called.
uint32_t created(const Birth& birth, uint32_t capture, float weight = 0);

// Records a handle that is older than the capture, so its stack is unknown. Returns its id, or 0.
uint32_t found(const Birth& birth, uint32_t capture) noexcept;

// The storages inside a handle without its own (a model, a sparse tensor): they replace those reported before.
struct Part {
  const void* storage = nullptr;
  uint64_t bytes = 0;
};
void holds(uint32_t record, uint32_t capture, const std::vector<Part>& parts) noexcept;

// The handle was freed. May be called from any thread and from finalizers: calls no JS, does not throw. 0 and stale ids
// are ignored.
void freed(uint32_t record, uint32_t capture) noexcept;

// `resize_` changed the size of a storage that handles refer to.
void storage_resized(const void* storage, uint64_t bytes) noexcept;

// `set_`, `swap` or a similar operation changed the storage of a live handle.
void storage_moved(uint32_t record, uint32_t capture, const void* new_storage, uint64_t bytes, bool is_new) noexcept;

// A table could not report an event for lack of memory: the capture lacks it.
void note_lost() noexcept;

// The handle has a new owner: kKept, or a scope. Not from finalizers.
void moved(uint32_t record, uint32_t capture, uint32_t owner) noexcept;

// The last handle of this storage was freed: another storage may reuse its identity.
void storage_released(const void* storage) noexcept;

// The number of records of this environment that still wait for a stack. Lock-free.
uint32_t pending(uint32_t env) noexcept;

// Assigns a site (an id from `define_site`) and a label (from `define_label`) to all waiting records of this
// environment.
void tag_pending(uint32_t env, uint32_t site, uint32_t label = 0) noexcept;

// Defines a site. `json` is the stack, innermost frame first: [{"file":…,"line":…,"column":…,"function":…}]. The caller
// interns: equal stacks of one environment are defined once. `parent_or_0` is reserved for sites that extend another.
// `env` is the environment that defines it.
uint32_t define_site(uint32_t parent_or_0, std::string json, uint32_t env = 0);

// The scope of this number (as in Birth::owner) was opened at `site`; 0: it ended, or the line is unknown.
void scope_opened(uint32_t env, uint32_t scope, uint32_t site) noexcept;

// Defines a set of labels, a JSON object of names to values. Returns 0 (no label) when there are too many. The caller
// interns.
uint32_t define_label(std::string json);

// This environment is about to close and free all it holds. Called before that, so that the capture shows what a worker
// thread held until its end.
void environment_closing(uint32_t env) noexcept;

// Totals from accounting. The writer thread reads them once per interval, so the reader must be callable from any
// thread.
struct Totals {
  uint64_t tensors = 0;               // live JS handles
  uint64_t storages = 0;              // distinct storages behind them
  uint64_t bytes = 0;                 // bytes of those storages, each once
  uint64_t allocated_bytes = 0;       // what libtorch's allocators hold in total
  uint64_t peak_allocated_bytes = 0;  // its peak
};
using ReadTotals = Totals (*)();

struct Options {
  std::string path;
  int fd = -1;            // the open file, if it is not opened by path; `start` takes ownership in every case
  bool attached = false;  // started by `leak-audit attach`, not at process start
  enum Mode { Counters, Sample, Full } mode = Full;
  uint64_t interval_ms = 1000;
  ReadTotals totals = nullptr;
  std::string command;                 // the audited command, for the report's title
  uint64_t sample_bytes = 512 * 1024;  // mean distance between samples, Sample mode
  bool adapt_distance = false;         // finer while that is cheap (sample_budget.h)
  int depth = 16;                      // frames per stack
  uint64_t max_bytes = 0;              // maximum size of the file; 0: no limit
};

// Opens the capture and starts the writer thread. The file must not exist yet, or be reserved: the first process to
// claim it owns it. False, with the reason in `why_not`, when a capture is running or the file cannot be claimed;
// `taken` is set if that is because the file has an owner.
bool start(const Options& options, std::string* why_not, bool* taken = nullptr);

// Writes pending changes and the final packet, and ends the writer thread. Idempotent; also runs at process exit.
void stop(const char* reason);

// Adds a named point in time to the running capture. False when none runs, or it can take no more marks.
bool mark(const std::string& name) noexcept;

// The names of c10::ScalarType by number, which each capture repeats. Never freed; set before a capture starts.
void set_dtypes(const std::vector<std::string>* names) noexcept;

// Number of frames per stack; 0 while no capture runs.
int depth() noexcept;

// Whether a capture runs that records every tensor.
bool records_all() noexcept;

// `notify` is called after each start and stop, on any thread. It must not block. Set once.
void set_follower(void (*notify)()) noexcept;

// The current state of the capture.
struct Snapshot {
  struct Row {
    uint32_t site;
    int8_t device_type, device_index;
    uint64_t live_tensors, live_bytes, allocated_tensors, allocated_bytes;
    std::string stack;  // as passed to `define_site`
  };
  Options::Mode mode = Options::Full;
  int64_t ms = -1;  // since the capture's start; -1: none is running
  uint64_t rss = 0;
  std::vector<Row> rows;  // the sites that hold most; estimates in `sample` mode
};
// Does not wait for JavaScript; holds locks only while it copies some rows.
Snapshot take_snapshot(size_t max_sites);

// The latest figures of the JS main thread, which the writer thread cannot read.
void note_heap(uint64_t heap_used, uint64_t external) noexcept;

// A full collection of `env` ended, which began `ago_ms` ago: an older tensor that still lives was reachable at that
// time. A site whose floor rises across several collections really holds its tensors.
void note_collection(uint32_t env, double ago_ms) noexcept;

// Whether the running capture is in `sample` mode.
bool sampling() noexcept;

// Number of live recorded handles (an estimate when sampled).
uint64_t recorded_live() noexcept;

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_AUDIT_H_
