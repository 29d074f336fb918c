#include "native/audit/writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace ltn::audit {

namespace {

// Resident bytes of this process; 0 where /proc does not tell.
uint64_t read_rss() noexcept {
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

std::string start_json(const Options& options) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto epoch = duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return "{\"pid\":" + std::to_string(::getpid()) + ",\"startedAt\":" + std::to_string(epoch) + ",\"mode\":\"" +
         mode_name(options.mode) + "\",\"intervalMs\":" + std::to_string(options.interval_ms) +
         ",\"sampleBytes\":" + std::to_string(options.sample_bytes) + ",\"depth\":" + std::to_string(options.depth) +
         ",\"command\":" + json_quote(options.command) + "}";
}

}  // namespace

int64_t steady_ms() noexcept {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool Writer::open(const Options& options, std::string* why_not) {
  if (!file_.claim(options.path, why_not)) return false;
  options_ = options;
  options_.interval_ms = std::max<uint64_t>(options.interval_ms, 10);
  start_ms_ = steady_ms();
  stopping_ = false;
  recorder_->redraw();
  buffer_.clear();
  buffer_.put_header();
  buffer_.put_text(PacketType::Start, start_json(options_));
  if (!file_.append(buffer_.bytes())) {
    file_.close();
    if (why_not != nullptr) *why_not = "cannot write to " + options.path;
    return false;
  }
  // The thread inherits the mask: no signal of the program may be delivered to it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error& error) {
    if (why_not != nullptr) *why_not = std::string("cannot start the writer thread: ") + error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!thread_.joinable()) file_.close();
  return thread_.joinable();
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
  buffer_.clear();
  buffer_.put_text(PacketType::End, "{\"reason\":" + json_quote(reason) +
                                        ",\"ms\":" + std::to_string(steady_ms() - start_ms_) +
                                        ",\"lost\":" + std::to_string(lost_.load()) + "}");
  file_.append(buffer_.bytes());
  file_.close();
}

void Writer::note_heap(uint64_t heap_used, uint64_t external) noexcept {
  heap_used_.store(heap_used, std::memory_order_relaxed);
  external_.store(external, std::memory_order_relaxed);
}

void Writer::loop() {
  pthread_setname_np(pthread_self(), "ltn-audit");
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

void Writer::tick() {
  const std::lock_guard<std::mutex> lock(packet_mutex_);
  write_round();
}

void Writer::write_round() {
  try {
    recorder_->drain(&rows_, &sites_);
    Tick tick;
    tick.ms = static_cast<uint64_t>(steady_ms() - start_ms_);
    tick.totals = options_.totals != nullptr ? options_.totals() : recorder_->recorded_totals();
    tick.rss = read_rss();
    tick.heap_used = heap_used_.load(std::memory_order_relaxed);
    tick.external = external_.load(std::memory_order_relaxed);
    tick.lost_events = lost_.load(std::memory_order_relaxed);
    tick.collections = collections_.load(std::memory_order_relaxed);
    buffer_.clear();
    for (const auto& site : sites_) buffer_.put_site(site.id, site.parent, site.env, site.json);
    buffer_.put_tick(tick, rows_, start_ms_);
    if (!file_.append(buffer_.bytes())) {
      note_lost();
      recorder_->redraw();  // rows are absolute: once writing works again, the next packet makes up for this one
    }
  } catch (...) {
    note_lost();  // no memory for a packet; the program must not notice
  }
}

}  // namespace ltn::audit
