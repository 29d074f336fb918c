#include "native/audit/audit.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "native/audit/recorder.h"
#include "native/audit/sampler.h"
#include "native/audit/writer.h"

namespace ltn::audit {

std::atomic<bool> process_on{false};
std::atomic<uint32_t> process_listeners{0};

namespace {

// Process-wide. Never destroyed: finalizers of worker threads and of the environment may come after static destructors.
struct State {
  Recorder recorder;
  Writer writer{&recorder};
  std::mutex control;  // start and stop
  std::atomic<Options::Mode> mode{Options::Full};
  std::atomic<uint64_t> sample_bytes{512 * 1024};
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

// Per thread.
Sampler& thread_sampler() {
  thread_local Sampler sampler(std::hash<std::thread::id>()(std::this_thread::get_id()) ^
                               static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  return sampler;
}

}  // namespace

uint32_t created(const Birth& birth) {
  if (!recording()) return 0;
  State& s = state();
  const Options::Mode mode = s.mode.load(std::memory_order_relaxed);
  if (mode == Options::Counters) return 0;
  float weight = 1;
  bool known_only = false;
  if (mode == Options::Sample) {
    // Storages are drawn, not handles: every handle on a drawn storage is recorded, so that its bytes always find
    // their present holder. The common case, a new storage that is not drawn, takes no lock.
    const bool is_new = birth.storage_is_new || birth.storage == nullptr;
    if (is_new && !thread_sampler().draw(birth.storage_bytes, s.sample_bytes, &weight)) return 0;
    known_only = !is_new;
  }
  try {
    return s.recorder.created(birth, weight, known_only, steady_ms());
  } catch (const std::bad_alloc&) {
    s.writer.note_lost();
    return 0;
  }
}

void freed(uint32_t record) noexcept {
  if (record != 0) state().recorder.freed(record);
}

void storage_resized(const void* storage, uint64_t bytes) noexcept { state().recorder.storage_resized(storage, bytes); }

void storage_moved(uint32_t record, const void* new_storage, uint64_t bytes, bool is_new) noexcept {
  if (record == 0) return;
  try {
    state().recorder.storage_moved(record, new_storage, bytes, is_new);
  } catch (...) {
    state().writer.note_lost();
  }
}

void storage_released(const void* storage) noexcept { state().recorder.storage_released(storage); }

uint32_t pending(uint32_t env) noexcept { return state().recorder.pending(env); }

void tag_pending(uint32_t env, uint32_t site, uint32_t label) noexcept {
  try {
    state().recorder.tag_pending(env, site, label);
  } catch (...) {
    state().writer.note_lost();
  }
}

uint32_t define_site(uint32_t parent_or_0, std::string json, uint32_t env) {
  return state().recorder.define_site(parent_or_0, env, std::move(json));
}

uint32_t define_label(std::string json) { return state().recorder.define_label(std::move(json)); }

void environment_closing(uint32_t env) noexcept {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.control);
  if (recording()) s.writer.environment_closing(env);
}

bool start(const Options& options, std::string* why_not, bool* taken) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.control);
  if (taken != nullptr) *taken = false;
  if (process_on.load()) {
    if (why_not != nullptr) *why_not = "a capture is running in this process";
    return false;
  }
  if (!s.writer.open(options, why_not, taken)) return false;
  s.mode = options.mode;
  s.sample_bytes = options.sample_bytes == 0 ? 1 : options.sample_bytes;
  static const bool at_exit = std::atexit([] { stop("exit"); }) == 0;
  static_cast<void>(at_exit);
  process_on.store(true);
  if (options.mode != Options::Counters) listen(true);
  return true;
}

void stop(const char* reason) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.control);
  if (!process_on.exchange(false)) return;
  if (s.mode != Options::Counters) listen(false);
  s.writer.close(reason);
}

void note_heap(uint64_t heap_used, uint64_t external) noexcept { state().writer.note_heap(heap_used, external); }

void note_collection() noexcept { state().writer.note_collection(); }

uint64_t recorded_live() noexcept { return state().recorder.recorded_totals().tensors; }

}  // namespace ltn::audit
