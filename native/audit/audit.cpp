#include "native/audit/audit.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "native/audit/descriptor.h"
#include "native/audit/graphs.h"
#include "native/audit/recorder.h"
#include "native/audit/running.h"
#include "native/audit/sample_budget.h"
#include "native/audit/sampler.h"
#include "native/audit/sites.h"
#include "native/audit/tokens.h"
#include "native/audit/writer.h"

namespace ltn::audit {

std::atomic<bool> process_on{false};
std::atomic<uint32_t> process_capture{0};
std::atomic<uint32_t> process_listeners{0};

namespace {

// Process-wide. Never destroyed: finalizers of workers and of the environment may run after static destructors.
struct State {
  Recorder recorder;
  SampleBudget samples;
  Writer writer{&recorder, &samples};
  std::mutex control;  // start and stop
  std::atomic<Options::Mode> mode{Options::Full};
  std::atomic<int> depth{0};
  std::atomic<void (*)()> notify{nullptr};
  uint32_t captures = 0;  // so far
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

void notify_follower() noexcept {
  if (auto* notify = state().notify.load()) notify();
}

}  // namespace

bool draws(uint64_t storage_bytes, float* weight) noexcept {
  State& s = state();
  *weight = 1;
  if (s.mode.load(std::memory_order_relaxed) != Options::Sample) return true;
  s.samples.count();
  if (!thread_sampler().draw(storage_bytes, s.samples.distance(), weight)) return false;
  s.samples.drawn(storage_bytes + Sampler::kHandleBytes);
  return true;
}

uint32_t created(const Birth& birth, uint32_t capture, float weight) {
  if (capture == 0) return 0;
  State& s = state();
  // Storages are drawn, not handles: every handle on a drawn storage is recorded, so that its bytes always find their
  // present holder. The common case, a new storage that is not drawn, takes no lock.
  const bool is_new = birth.storage_is_new || birth.storage == nullptr;
  if (is_new && weight == 0 && !draws(birth.storage_bytes, &weight)) return 0;
  if (!is_new) weight = 1;
  const bool known_only = !is_new && s.mode.load(std::memory_order_relaxed) == Options::Sample;
  try {
    return s.recorder.created(birth, weight, known_only, steady_ms(), capture);
  } catch (const std::bad_alloc&) {
    s.writer.note_lost();
    return 0;
  }
}

uint32_t found(const Birth& birth, uint32_t capture) noexcept {
  if (capture == 0) return 0;
  State& s = state();
  try {
    return s.recorder.found(birth, s.writer.start_ms() - 1, capture);
  } catch (...) {
    s.writer.note_lost();
    return 0;
  }
}

void holds(uint32_t record, uint32_t capture, const std::vector<Part>& parts) noexcept {
  if (record == 0) return;
  try {
    state().recorder.holds(record, parts, capture);
  } catch (...) {
    state().writer.note_lost();
  }
}

void scope_opened(uint32_t env, uint32_t scope, uint32_t site) noexcept {
  try {
    state().recorder.scope_opened(env, scope, site);
  } catch (...) {
    state().writer.note_lost();
  }
}

Tokens offered_token(uint32_t site, uint32_t record, uint64_t bytes) noexcept {
  const uint32_t now = capture();
  if (now == 0 || site == 0) return {};
  State& s = state();
  try {
    return {now, s.recorder.token_offered(site, s.recorder.site_of(record), bytes, now)};
  } catch (...) {
    s.writer.note_lost();
    return {};
  }
}

void token_taken(const Tokens& tokens, uint64_t bytes) noexcept {
  if (tokens.capture != 0) state().recorder.token_ended(tokens.row, bytes, true, tokens.capture);
}

void token_expired(const Tokens& tokens, uint64_t bytes) noexcept {
  if (tokens.capture != 0) state().recorder.token_ended(tokens.row, bytes, false, tokens.capture);
}

void freed(uint32_t record, uint32_t capture) noexcept {
  if (record != 0) state().recorder.freed(record, capture);
}

void storage_resized(const void* storage, uint64_t bytes) noexcept { state().recorder.storage_resized(storage, bytes); }

void storage_moved(uint32_t record, uint32_t capture, const void* new_storage, uint64_t bytes, bool is_new) noexcept {
  if (record == 0) return;
  try {
    state().recorder.storage_moved(record, new_storage, bytes, is_new, capture);
  } catch (...) {
    state().writer.note_lost();
  }
}

void moved(uint32_t record, uint32_t capture, uint32_t owner) noexcept {
  try {
    state().recorder.moved(record, owner, capture);
  } catch (...) {
    state().writer.note_lost();
  }
}

void births_of(uint32_t capture, const uint32_t* records, size_t count, BirthInfo* births) noexcept {
  state().recorder.births_of(records, count, births, capture);
}

void add_graphs(uint32_t capture, const std::vector<GraphRow>& rows) noexcept {
  try {
    state().recorder.add_graphs(rows, capture);
  } catch (...) {
    state().writer.note_lost();
  }
}

uint32_t rounds_so_far() noexcept { return state().recorder.rounds(); }

void storage_released(const void* storage) noexcept { state().recorder.storage_released(storage); }

void note_lost() noexcept { state().writer.note_lost(); }

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
  s.recorder.environment_ended(env);
}

bool start(const Options& options, std::string* why_not, bool* taken) {
  Descriptor file(options.fd);
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.control);
  if (taken != nullptr) *taken = false;
  if (process_on.load()) {
    if (why_not != nullptr) *why_not = "a capture is running in this process";
    return false;
  }
  const uint32_t capture = ++s.captures;
  s.recorder.begin(capture);
  if (!s.writer.open(options, why_not, taken, std::move(file))) return false;
  s.mode = options.mode;
  s.samples.begin(options.sample_bytes, options.adapt_distance, steady_ms());
  s.depth = options.depth;
  static const bool at_exit = std::atexit([] { stop("exit"); }) == 0;
  static_cast<void>(at_exit);
  process_on.store(true);
  if (options.mode != Options::Counters) {
    process_capture.store(capture);
    listen(true);
  }
  notify_follower();
  return true;
}

void stop(const char* reason) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.control);
  if (!process_on.exchange(false)) return;
  s.depth = 0;
  if (process_capture.exchange(0) != 0) listen(false);
  s.writer.close(reason);
  s.recorder.begin(0);  // frees its memory, and ignores late calls
  notify_follower();
}

bool mark(const std::string& name) noexcept {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.control);
  return recording() && s.writer.mark(name);
}

uint32_t running_number() noexcept {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.control);
  return process_on.load() ? s.captures : 0;
}

int depth() noexcept { return state().depth.load(std::memory_order_relaxed); }

bool records_all() noexcept { return depth() > 0 && state().mode.load(std::memory_order_relaxed) == Options::Full; }

void set_follower(void (*notify)()) noexcept { state().notify.store(notify); }

Snapshot take_snapshot(size_t max_sites) {
  State& s = state();
  Snapshot snapshot;
  const std::lock_guard<std::mutex> lock(s.control);
  snapshot.rss = resident_bytes();
  if (!recording()) return snapshot;
  snapshot.mode = s.mode.load();
  snapshot.ms = steady_ms() - s.writer.start_ms();
  for (const CellRow& row : s.recorder.holding_most(max_sites)) {
    snapshot.rows.push_back({row.site, row.device_type, row.device_index, row.live_tensors, row.live_bytes,
                             row.allocated_tensors, row.allocated_bytes, s.recorder.site_json(row.site)});
  }
  return snapshot;
}

uint32_t site_of(uint32_t record) noexcept { return record == 0 ? 0 : state().recorder.site_of(record); }

std::string site_text(uint32_t site) { return state().recorder.site_json(site); }

CreatedTotals created_totals() noexcept { return state().recorder.created_totals(); }

void note_heap(uint64_t heap_used, uint64_t external) noexcept { state().writer.note_heap(heap_used, external); }

void note_collection(uint32_t env, double ago_ms) noexcept {
  State& s = state();
  s.writer.note_collection();
  // Rounded down, and one off for the clocks: surely before it began.
  s.recorder.collection_began(env, steady_ms() - static_cast<int64_t>(ago_ms) - 2);
}

bool sampling() noexcept { return capture() != 0 && state().mode.load(std::memory_order_relaxed) == Options::Sample; }

uint64_t recorded_live() noexcept { return state().recorder.recorded_totals().tensors; }

}  // namespace ltn::audit
