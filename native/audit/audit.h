// The recorder's face towards the handles layer.
//
// All state behind these functions is process-wide (one capture per process, whatever the number of environments) and
// every function may be called from any thread. Nothing here calls JavaScript, and nothing here is called while it
// holds a lock that a caller could hold, so that `freed` is safe in a finalizer that runs inside a collection.
//
// When the audit is off, the handles layer pays `enabled()`: one relaxed load and one predictable branch.
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

// Process-wide: the number of the running capture, never used twice; 0 while none asks for births (off, or `counters`).
extern std::atomic<uint32_t> process_capture;

inline uint32_t capture() noexcept { return process_capture.load(std::memory_order_acquire); }

// Process-wide: how many listen to births: the recorder, and each environment that watches its own (handles/watch.h).
// In `counters` mode the recorder does not: accounting has the totals anyway.
extern std::atomic<uint32_t> process_listeners;
inline void listen(bool on) noexcept { process_listeners.fetch_add(on ? 1u : ~0u, std::memory_order_relaxed); }

// Whether births are worth a look at all.
inline bool enabled() noexcept { return __builtin_expect(process_listeners.load(std::memory_order_relaxed) != 0, 0); }

// Who ends a handle's life. Numbers of scopes are larger: the low 32 bits of their ids.
inline constexpr uint32_t kCollector = 0;  // made outside every scope
inline constexpr uint32_t kKept = 1;       // it left its scope for the collector

// What the handles layer tells when it created one JS handle. Pointers are only read during the call.
struct Birth {
  const void* storage = nullptr;  // opaque identity, stable for the storage's life; nullptr when the tensor has none
  uint64_t storage_bytes = 0;     // bytes of the whole storage now
  bool storage_is_new = false;    // this is the first handle on that storage
  int8_t device_type = 0;         // c10::DeviceType
  int8_t device_index = -1;       // c10::DeviceIndex, -1 where the device has none
  int8_t dtype = 0;               // c10::ScalarType
  const int64_t* sizes = nullptr;
  size_t ndim = 0;
  uint32_t env = 0;             // number of the environment (thread)
  uint32_t owner = kCollector;  // or kKept, or a scope's number
  bool has_graph = false;       // autograd knows where it came from
};

// Records begin anew with each capture. Who keeps their ids says which capture they are of; when another one runs, a
// call does nothing. A table that finds a capture that it does not know tells of all that it holds (`found`), before
// anything else: so the capture begins with what was there before it.

// Whether a new storage of so many bytes is to be recorded: always in `full` mode, when it is drawn in `sample` mode.
// Asked once for a storage; `weight` is for `created` then. Takes no lock.
bool draws(uint64_t storage_bytes, float* weight) noexcept;

// Records a birth. Returns the record's id (never 0) and marks it as waiting for its stack in `birth.env`;
// returns 0 when this handle is not recorded (another capture, or not drawn by the sampler).
// `weight`: what `draws` gave for its new storage; 0 when that was not asked.
uint32_t created(const Birth& birth, uint32_t capture, float weight = 0);

// A handle that is older than the capture, whose stack nobody knows. Its id, or 0.
uint32_t found(const Birth& birth, uint32_t capture) noexcept;

// The handle is gone. From any thread, from a finalizer too: calls no JS, does not throw. 0 and stale ids are ignored.
void freed(uint32_t record, uint32_t capture) noexcept;

// `resize_` changed the bytes of a storage that handles see.
void storage_resized(const void* storage, uint64_t bytes) noexcept;

// `set_`, `swap` and their like changed the storage that a living handle sees.
void storage_moved(uint32_t record, uint32_t capture, const void* new_storage, uint64_t bytes, bool is_new) noexcept;

// What a table could not tell, for want of memory, is missing in the capture.
void note_lost() noexcept;

// The handle has another owner: kKept, or a scope. Not from finalizers.
void moved(uint32_t record, uint32_t capture, uint32_t owner) noexcept;

// The last handle of this storage is gone: its identity may be used again by another storage.
void storage_released(const void* storage) noexcept;

// How many records of this environment still wait for a stack. Lock-free.
uint32_t pending(uint32_t env) noexcept;

// Gives all waiting records of this environment their site (an id from `define_site`) and label (of `define_label`).
void tag_pending(uint32_t env, uint32_t site, uint32_t label = 0) noexcept;

// A new site. `json` is the stack, innermost frame first: [{"file":…,"line":…,"column":…,"function":…}]. The caller
// interns: equal stacks of one environment are defined once. `parent_or_0` is reserved for sites that extend another.
// `env` is the environment that defines it.
uint32_t define_site(uint32_t parent_or_0, std::string json, uint32_t env = 0);

// A new set of labels, as a JSON object of names to values. 0, no label, when there are too many. The caller interns.
uint32_t define_label(std::string json);

// This environment is about to be closed, which frees all it holds. Called before that, so that the capture shows what
// a worker thread held until its end.
void environment_closing(uint32_t env) noexcept;

// What accounting knows; the writer thread reads it once per interval, so it must be callable from any thread.
struct Totals {
  uint64_t tensors = 0;               // live JS handles
  uint64_t storages = 0;              // distinct storages behind them
  uint64_t bytes = 0;                 // bytes of those storages, each once
  uint64_t allocated_bytes = 0;       // what libtorch's allocators hold in all
  uint64_t peak_allocated_bytes = 0;  // its peak
};
using ReadTotals = Totals (*)();

struct Options {
  std::string path;
  int fd = -1;            // the open file, where it is not to be opened by its path; `start` takes it, whatever comes
  bool attached = false;  // by `leak-audit attach`, and not from the start
  enum Mode { Counters, Sample, Full } mode = Full;
  uint64_t interval_ms = 1000;
  ReadTotals totals = nullptr;
  std::string command;                 // what is audited, for the report's title
  uint64_t sample_bytes = 512 * 1024;  // mean distance between samples, Sample mode
  int depth = 16;                      // frames per stack
  uint64_t max_bytes = 0;              // the file's size at most; 0: no cap
};

// Opens the capture (which must not exist yet, or wait for its first process: who claims it owns it) and starts the
// writer thread. False, with the reason in `why_not`, when a capture is running or the file cannot be claimed;
// `taken` tells whether that is because it has an owner.
bool start(const Options& options, std::string* why_not, bool* taken = nullptr);

// Writes what changed and the final packet, and ends the writer thread. Idempotent; also runs at process exit.
void stop(const char* reason);

// A named point in time, in the running capture. False when none runs, or none can take more.
bool mark(const std::string& name) noexcept;

// Frames that stacks should have, 0 while no capture runs.
int depth() noexcept;

// `tell` is called after each start and stop, on any thread. It must not block. Set once.
void set_follower(void (*tell)()) noexcept;

// What lives now.
struct Snapshot {
  struct Row {
    uint32_t site;
    int8_t device_type, device_index;
    uint64_t live_tensors, live_bytes, allocated_tensors, allocated_bytes;
    std::string stack;  // as it was defined
  };
  Options::Mode mode = Options::Full;
  int64_t ms = -1;  // since the capture's start; -1: none is running
  uint64_t rss = 0;
  std::vector<Row> rows;  // those that hold most; estimates in `sample` mode
};
// Waits for no JavaScript, and lets nobody wait for longer than it takes to copy some rows.
Snapshot look(size_t most_sites);

// The latest figures of the JS main thread, which the writer thread cannot ask for.
void note_heap(uint64_t heap_used, uint64_t external) noexcept;

// A full collection ended: a site whose floor rises across several of these really holds what it holds.
// It was of this environment, and began so many milliseconds ago: what is older and lives was reached by it.
void note_collection(uint32_t env, double ago_ms) noexcept;

// Living handles that are recorded (an estimate when sampled).
uint64_t recorded_live() noexcept;

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_AUDIT_H_
