#include "native/audit/writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "native/audit/compaction.h"
#include "native/audit/memory_limit.h"
#include "native/audit/rank.h"

namespace ltn::audit {

#if defined(__APPLE__)
uint64_t resident_bytes() noexcept {
  mach_task_basic_info info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  auto* const out = reinterpret_cast<task_info_t>(&info);
  return task_info(mach_task_self(), MACH_TASK_BASIC_INFO, out, &count) == KERN_SUCCESS ? info.resident_size : 0;
}
#else
uint64_t resident_bytes() noexcept {
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128];
  const ssize_t n = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  unsigned long long size = 0, resident = 0;
  if (std::sscanf(text, "%llu %llu", &size, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}
#endif

namespace {

// Processor time of all threads; 0 if the system does not tell.
uint64_t processor_us() noexcept {
  timespec now{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

const char* mode_name(Options::Mode mode) {
  switch (mode) {
    case Options::Counters:
      return "counters";
    case Options::Sample:
      return "sample";
    default:
      return "full";
  }
}

// Of all captures: the names do not depend on the environment.
std::atomic<const std::vector<std::string>*> process_dtypes{nullptr};

// Of all captures, as above.
std::atomic<int64_t> process_rank{-1};
std::atomic<int64_t> process_world_size{-1};

bool is_rank() noexcept { return process_rank.load() >= 0; }

// Empty outside groups.
std::string rank_json() {
  const int64_t rank = process_rank.load(), world_size = process_world_size.load();
  if (rank < 0) return {};
  const std::string text = "\"rank\":" + std::to_string(rank);
  return world_size > rank ? text + ",\"worldSize\":" + std::to_string(world_size) : text;
}

std::string dtypes_json() {
  const std::vector<std::string>* names = process_dtypes.load();
  if (names == nullptr) return "[]";
  std::string list;
  for (const std::string& name : *names) list += (list.empty() ? "" : ",") + json_quote(name);
  return "[" + list + "]";
}

std::string start_json(const Options& options, const std::string& rank) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const MemoryLimit limit = memory_limit();
  const auto epoch = duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return "{\"pid\":" + std::to_string(::getpid()) + ",\"startedAt\":" + std::to_string(epoch) + ",\"mode\":\"" +
         mode_name(options.mode) + "\",\"intervalMs\":" + std::to_string(options.interval_ms) +
         ",\"sampleBytes\":" + std::to_string(options.sample_bytes) + ",\"depth\":" + std::to_string(options.depth) +
         ",\"maxBytes\":" + std::to_string(options.max_bytes) + ",\"clockMs\":" + std::to_string(steady_ms()) +
         ",\"memoryLimit\":{\"bytes\":" + std::to_string(limit.bytes) + ",\"from\":\"" +
         (limit.of_group ? "cgroup" : "machine") + "\"},\"attached\":" + (options.attached ? "true" : "false") +
         (rank.empty() ? "" : "," + rank) + ",\"dtypes\":" + dtypes_json() +
         ",\"command\":" + json_quote(options.command) + "}";
}

// Maximum entries per packet: a reader keeps a packet in memory.
constexpr size_t kRowsPerPacket = 8192, kBirthsPerPacket = 8192, kDeathsPerPacket = 65536, kScopesPerPacket = 32768;
// A longer buffer is flushed before the round is complete.
constexpr size_t kFlushBytes = size_t{4} << 20;
// Compaction keeps them.
constexpr uint32_t kMaxMarks = 10'000;

}  // namespace

void set_dtypes(const std::vector<std::string>* names) noexcept { process_dtypes.store(names); }

void set_rank(int64_t rank, int64_t world_size) noexcept {
  process_world_size.store(world_size);
  process_rank.store(rank);
}

void learn_rank(int64_t rank, int64_t world_size) noexcept {
  if (process_rank.load() < 0) set_rank(rank, world_size);
}

int64_t steady_ms() noexcept {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

// A thread created while it lives inherits the mask: no signal of the program may be delivered to it.
class NoSignals {
 public:
  NoSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// Closes the file if the writer thread does not run in the end.
struct ClosedUnless {
  const std::thread& runs;
  CaptureFile& file;
  ~ClosedUnless() {
    if (!runs.joinable()) file.close();
  }
};

}  // namespace

bool Writer::open(const Options& options, std::string* why_not, bool* taken, Descriptor file) {
  const ClosedUnless guard{thread_, file_};
  if (file ? !file_.claim_open(std::move(file), options.max_bytes == 0 ? std::string() : options.path, why_not)
           : !file_.claim(options.path, why_not)) {
    if (taken != nullptr) *taken = errno == EEXIST;
    return false;
  }
  file_.set_path(options.path);
  options_ = options;
  options_.interval_ms = std::max<uint64_t>(options.interval_ms, 10);
  start_ms_ = steady_ms();
  stopping_ = false;
  lost_ = 0;
  dropped_births_ = dropped_written_ = 0;
  marks_ = 0;
  collections_ = 0;
  // A third is left for what comes while a new file of a third is written.
  compact_at_ = static_cast<int64_t>(options.max_bytes / 3 * 2);
  recorder_->requeue_all();
  buffer_.clear();
  if (file_.size() == 0) buffer_.put_header();
  const std::string rank = rank_json();
  has_rank_ = !rank.empty();
  buffer_.put_text(PacketType::Start, start_json(options_, rank));
  if (!file_.append(buffer_.bytes())) {
    if (why_not != nullptr) *why_not = "cannot write to " + options.path + ": " + std::strerror(errno);
    file_.flag(kLost);
    return false;
  }
  file_.settle_claim();
  const NoSignals blocked;
  try {
    thread_ = std::thread([this] { loop(); });
    return true;
  } catch (const std::system_error& error) {  // too many threads
    if (why_not != nullptr) *why_not = std::string("cannot start the writer thread: ") + error.what();
    return false;
  }
}

void Writer::close(const char* reason) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  tick();
  const std::lock_guard<std::mutex> lock(packet_mutex_);
  buffer_.clear();
  buffer_.put_text(PacketType::End, "{\"reason\":" + json_quote(reason) +
                                        ",\"ms\":" + std::to_string(steady_ms() - start_ms_) +
                                        ",\"lost\":" + std::to_string(lost_.load()) + "}");
  if (!file_.append(buffer_.bytes())) note_lost();
  flag_loss();
  file_.close();
}

void Writer::note_heap(uint64_t heap_used, uint64_t external) noexcept {
  heap_used_.store(heap_used, std::memory_order_relaxed);
  external_.store(external, std::memory_order_relaxed);
}

void Writer::loop() {
#if defined(__APPLE__)
  pthread_setname_np("ltn-audit");
#else
  pthread_setname_np(pthread_self(), "ltn-audit");
#endif
  auto next = std::chrono::steady_clock::now();
  const std::chrono::milliseconds interval(options_.interval_ms);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    next = std::max(next + interval, std::chrono::steady_clock::now());
    if (wake_.wait_until(lock, next, [this] { return stopping_; })) return;
    lock.unlock();
    tick();
    lock.lock();
  }
}

void Writer::environment_closing(uint32_t env) noexcept {
  const std::lock_guard<std::mutex> lock(packet_mutex_);
  write_round();
  try {
    buffer_.clear();
    buffer_.put_environment_end(env, static_cast<uint64_t>(steady_ms() - start_ms_));
    if (!file_.append(buffer_.bytes())) note_lost();
  } catch (...) {
    note_lost();
  }
}

bool Writer::mark(const std::string& name) noexcept {
  const std::lock_guard<std::mutex> lock(packet_mutex_);
  if (marks_ == kMaxMarks) return false;
  try {
    buffer_.clear();
    buffer_.put_mark(static_cast<uint64_t>(steady_ms() - start_ms_), name);
    if (!flush(0)) return false;
  } catch (...) {
    return false;
  }
  ++marks_;
  return true;
}

void Writer::tick() {
  const std::lock_guard<std::mutex> lock(packet_mutex_);
  write_round();
}

void Writer::write_round() {
  bool drained = false;
  try {
    recorder_->drain(&changes_);
    drained = true;
    Tick tick;
    tick.ms = static_cast<uint64_t>(steady_ms() - start_ms_);
    tick.totals = options_.totals != nullptr ? options_.totals() : recorder_->recorded_totals();
    tick.rss = resident_bytes();
    tick.cpu_us = processor_us();
    tick.heap_used = heap_used_.load(std::memory_order_relaxed);
    tick.external = external_.load(std::memory_order_relaxed);
    tick.lost_events = lost_.load(std::memory_order_relaxed);
    tick.collections = collections_.load(std::memory_order_relaxed);
    const int64_t collected = recorder_->collected_everywhere();
    constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();  // 49 days
    if (collected > start_ms_) tick.collected_ms = static_cast<uint32_t>(std::min(collected - start_ms_, kMax));
    make_room();
    if (!put_round(tick)) {
      note_lost();
      recorder_->requeue(changes_);  // once writing works again, the next round includes this one
    }
  } catch (...) {
    note_lost();  // out of memory; the program must not notice
    try {
      if (drained) recorder_->requeue(changes_);
    } catch (...) {
      note_lost();
    }
  }
  flag_loss();
}

void Writer::put_definitions() {
  for (const auto& site : changes_.sites) buffer_.put_site(site.id, site.parent, site.env, site.json);
  for (const auto& shape : changes_.shapes) buffer_.put_shape(shape.id, shape.sizes);
  for (const auto& label : changes_.labels) buffer_.put_label(label.id, label.json);
}

bool Writer::put_round(const Tick& tick) {
  buffer_.clear();
  put_definitions();
  const bool is_new_rank = !has_rank_ && is_rank();
  if (is_new_rank) buffer_.put_text(PacketType::Rank, "{" + rank_json() + "}");
  if (dropped_written_ != dropped_births_) buffer_.put_dropped(dropped_births_);
  for (size_t at = 0; at < changes_.deaths.size(); at += kDeathsPerPacket) {
    buffer_.put_deaths(changes_.deaths, at, std::min(at + kDeathsPerPacket, changes_.deaths.size()));
    if (!flush(kFlushBytes)) return false;
  }
  for (size_t at = 0; at < changes_.births.size(); at += kBirthsPerPacket) {
    buffer_.put_births(changes_.births, at, std::min(at + kBirthsPerPacket, changes_.births.size()), start_ms_);
    if (!flush(kFlushBytes)) return false;
  }
  for (size_t at = 0; at < changes_.scopes.size(); at += kScopesPerPacket) {
    buffer_.put_scopes(changes_.scopes, at, std::min(at + kScopesPerPacket, changes_.scopes.size()));
    if (!flush(kFlushBytes)) return false;
  }
  for (size_t at = 0; at < changes_.kept.size(); at += kDeathsPerPacket) {
    buffer_.put_kept(changes_.kept, at, std::min(at + kDeathsPerPacket, changes_.kept.size()));
    if (!flush(kFlushBytes)) return false;
  }
  for (size_t at = 0; at < changes_.rows.size(); at += kRowsPerPacket) {
    buffer_.put_rows(changes_.rows, at, std::min(at + kRowsPerPacket, changes_.rows.size()), start_ms_);
    if (!flush(kFlushBytes)) return false;
  }
  if (!changes_.openings.empty()) buffer_.put_openings(changes_.openings);
  if (!changes_.tokens.empty()) buffer_.put_tokens(changes_.tokens);
  if (!changes_.graphs.empty()) buffer_.put_graphs(changes_.graphs);
  if (samples_ != nullptr && options_.mode == Options::Sample) {
    buffer_.put_sampling(samples_->made(), samples_->distance());
    samples_->round(steady_ms());
  }
  buffer_.put_tick(tick);
  if (!flush(0)) return false;
  dropped_written_ = dropped_births_;
  has_rank_ |= is_new_rank;
  return true;
}

// Keeps the file under its limit: first drops old detail, then detail of new births, then rounds.
void Writer::make_room() {
  if (compact_at_ == 0) return;
  const auto cap = static_cast<int64_t>(options_.max_bytes);
  const auto max_births = static_cast<size_t>(cap / 6) / kBirthBytes;
  if (changes_.births.size() > max_births) {
    const size_t without = changes_.births.size() - max_births;
    changes_.births.erase(changes_.births.begin(), changes_.births.begin() + static_cast<std::ptrdiff_t>(without));
    dropped_births_ += without;
  }
  constexpr int64_t kRoundBytes = 512;  // headers of packets, the round itself, the end
  int64_t coming = kRoundBytes + static_cast<int64_t>(
                                     changes_.births.size() * kBirthBytes + changes_.deaths.size() * 4 +
                                     changes_.scopes.size() * kScopeBytes + changes_.kept.size() * 4 +
                                     changes_.rows.size() * kRowBytes + changes_.graphs.size() * kGraphBytes +
                                     changes_.openings.size() * kOpeningBytes + changes_.tokens.size() * kTokenBytes);
  for (const auto& site : changes_.sites) coming += static_cast<int64_t>(site.json.size() + kPacketHeaderBytes + 12);
  for (const auto& shape : changes_.shapes)
    coming += static_cast<int64_t>(shape.sizes.size() * 8 + kPacketHeaderBytes + 4);
  for (const auto& label : changes_.labels) coming += static_cast<int64_t>(label.json.size() + kPacketHeaderBytes + 4);
  if (file_.size() + coming <= compact_at_ || !file_.is_reachable()) return;

  Compacted done;
  const auto live = [this](std::vector<BirthEntry>* births) { recorder_->keep_live(births); };
  if (compact(&file_, cap / 3, live, &done)) {
    dropped_births_ += done.dropped_births;
    buffer_.clear();
    buffer_.put_dropped(dropped_births_);
    if (!file_.append(buffer_.bytes())) note_lost();
    dropped_written_ = dropped_births_;
  }
  // If even that is too large, do not retry at every round.
  compact_at_ = std::max<int64_t>(cap / 3 * 2, file_.size() + (cap - file_.size()) / 2);
}

// Writes the buffer if it holds more than `min` bytes. False if it could not, or the file would exceed its limit.
bool Writer::flush(size_t min) {
  if (buffer_.bytes().size() <= min) return true;
  const std::string& bytes = buffer_.bytes();
  const auto max = static_cast<int64_t>(options_.max_bytes);
  if (max != 0 && file_.size() + static_cast<int64_t>(bytes.size()) > max) return false;
  if (!file_.append(bytes)) return false;
  buffer_.clear();
  return true;
}

// In the header, which needs no space on a full disk.
void Writer::flag_loss() {
  if (lost_.load(std::memory_order_relaxed) != 0) file_.flag(kLost);
}

}  // namespace ltn::audit
