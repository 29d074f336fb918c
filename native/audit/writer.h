// The thread that appends a packet per interval to the capture file.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_WRITER_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_WRITER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "native/audit/audit.h"
#include "native/audit/capture_file.h"
#include "native/audit/descriptor.h"
#include "native/audit/recorder.h"
#include "native/audit/sample_budget.h"

namespace ltn::audit {

// Milliseconds on the steady clock.
int64_t steady_ms() noexcept;

// Of this process; 0 if /proc cannot be read.
uint64_t resident_bytes() noexcept;

// Runs from `open` to `close`, both called under the control lock of audit.cpp (or by a test). Its thread calls no
// JavaScript and takes no signals, so it is independent of a blocked event loop and of the program's signal handlers.
// It does not keep the process alive: `close` joins it at exit, and a killed process needs no join.
class Writer {
 public:
  // `samples`: told of each round in `sample` mode.
  explicit Writer(Recorder* recorder, SampleBudget* samples = nullptr) : recorder_(recorder), samples_(samples) {}
  ~Writer() { close("destroyed"); }

  // `taken`: the file has an owner. `file` is the open one, if it is not opened by path. If this throws, for lack of
  // memory, nothing stays open.
  bool open(const Options& options, std::string* why_not, bool* taken = nullptr, Descriptor file = Descriptor());
  void close(const char* reason);

  // Writes a round and then the packet for the end of this environment. Any thread, under the control lock.
  void environment_closing(uint32_t env) noexcept;

  // Adds a mark now. False when there is no space. Any thread, under the control lock.
  bool mark(const std::string& name) noexcept;

  // Of the open capture.
  int64_t start_ms() const noexcept { return start_ms_; }

  // Any thread.
  void note_heap(uint64_t heap_used, uint64_t external) noexcept;
  void note_collection() noexcept { collections_.fetch_add(1, std::memory_order_relaxed); }
  void note_lost() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void loop();
  void tick();
  void write_round();
  void put_definitions();
  bool put_round(const Tick& tick);
  void make_room();
  bool flush(size_t min);
  void flag_loss();

  Recorder* const recorder_;
  SampleBudget* const samples_;
  Options options_;
  CaptureFile file_;
  std::atomic<int64_t> start_ms_{0};  // read by threads that may still see the previous capture
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;

  std::atomic<uint64_t> heap_used_{0}, external_{0}, lost_{0};
  std::atomic<uint32_t> collections_{0};

  std::mutex packet_mutex_;  // guards the file and all below
  PacketBuffer buffer_;
  Recorder::Changes changes_;
  int64_t compact_at_ = 0;        // bytes; 0: no cap
  uint64_t dropped_births_ = 0;   // without detail in the file
  uint64_t dropped_written_ = 0;  // of those, as written to the file
  uint32_t marks_ = 0;
  bool has_rank_ = false;  // whether the file names it
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_WRITER_H_
