// The layout of packets in the capture file and how they are appended. Specification: docs/capture-format.md.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_FILE_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "native/audit/audit.h"
#include "native/audit/capture_place.h"
#include "native/audit/descriptor.h"
#include "native/audit/graphs.h"
#include "native/audit/guarded_descriptor.h"
#include "native/audit/tokens.h"

namespace ltn::audit {

inline constexpr char kMagic[8] = {'L', 'T', 'N', 'A', 'U', 'D', 'I', 'T'};
inline constexpr uint32_t kFormatVersion = 2;
inline constexpr size_t kHeaderBytes = 16;
inline constexpr int64_t kFlagsAt = 12;         // flags of the process that owns the file
inline constexpr int64_t kForeignFlagsAt = 13;  // flags that other processes may set
enum Flag : uint8_t { kLost = 1, kReserved = 2, kCapped = 4, kFull = 8 };

inline constexpr uint32_t kSync = 0x504E544C;  // "LTNP"
inline constexpr size_t kPacketHeaderBytes = 20;
inline constexpr uint32_t kMaxPacketBytes = 16 * 1024 * 1024;

enum class PacketType : uint8_t {
  Start = 1,
  Site = 2,
  Tick = 3,
  End = 4,
  EnvironmentEnd = 5,
  Rows = 6,
  Births = 7,
  Deaths = 8,
  Shape = 9,
  Label = 10,
  Process = 11,  // written by `leak-audit run --follow-children`
  Dropped = 12,
  Mark = 13,
  Scopes = 14,
  Kept = 15,
  Graphs = 16,
  Sampling = 17,  // of the round that follows
  Openings = 18,
  Tokens = 19,
  Rank = 20,  // if it was not known at Start
};

// Current counters of one (site, label, device). Absolute values, so that a lost packet costs detail only.
struct CellRow {
  uint32_t site = 0;
  uint32_t label = 0;
  int8_t device_type = 0;
  int8_t device_index = -1;
  uint64_t live_tensors = 0;
  uint64_t live_bytes = 0;
  uint64_t allocated_tensors = 0;
  uint64_t allocated_bytes = 0;
  int64_t oldest_birth_ms = 0;  // on the steady clock; INT64_MIN when nothing lives
};

inline constexpr size_t kRowBytes = 56;

// A tensor that outlived the interval of its birth. Same layout as in the file, except that `birth_ms` is on the steady
// clock.
struct BirthEntry {
  uint32_t id = 0, site = 0, label = 0, shape = 0;
  int64_t birth_ms = 0;
  uint64_t bytes = 0;
  float weight = 1;
  uint32_t storage = 0;
  int8_t device_type = 0, device_index = -1, dtype = 0;
  uint8_t flags = 0;  // of BirthFlag
  uint32_t env = 0;
};
inline constexpr size_t kBirthBytes = 48;
static_assert(sizeof(BirthEntry) == kBirthBytes);
// kView: the storage existed before the tensor. kBy…: the owner when this was written (one of three). kHasGraph: the
// tensor has a grad_fn.
enum BirthFlag : uint8_t { kView = 1, kByCollector = 2, kByKeep = 4, kByScope = 6, kHasGraph = 8 };

// A scope owns the tensor from now on.
struct ScopeEntry {
  uint32_t id = 0, scope = 0;
};
inline constexpr size_t kScopeBytes = 8;

// The scope of this number in this environment was opened at `site`.
struct OpeningEntry {
  uint32_t env = 0, scope = 0, site = 0;
};
inline constexpr size_t kOpeningBytes = 12;
static_assert(sizeof(OpeningEntry) == kOpeningBytes);

// Figures of the whole process after one interval.
struct Tick {
  uint64_t ms = 0;  // since the capture's start
  Totals totals;
  uint64_t rss = 0;
  uint64_t heap_used = 0;
  uint64_t external = 0;
  uint64_t lost_events = 0;
  uint32_t collections = 0;
  uint32_t collected_ms = 0;  // live tensors born before this were reached by a collection; 0: none
  uint64_t cpu_us = 0;        // processor time of the process, all threads
};

// Builds packets in memory. Not thread-safe: it belongs to the writer thread.
class PacketBuffer {
 public:
  void put_header(uint8_t flags = 0);
  void put_packet(PacketType type, std::string_view payload);
  void put_text(PacketType type, std::string_view json);
  void put_site(uint32_t id, uint32_t parent, uint32_t env, std::string_view json);
  void put_shape(uint32_t id, const std::vector<int64_t>& sizes);
  void put_label(uint32_t id, std::string_view json);
  void put_environment_end(uint32_t env, uint64_t ms);
  void put_dropped(uint64_t births);
  void put_sampling(uint64_t storages, uint64_t distance);
  void put_mark(uint64_t ms, std::string_view name);
  void put_tick(const Tick& tick);
  // Writes the entries [begin, end) as one packet. `start_ms` is the steady-clock time of the capture's start: births
  // are written relative to it.
  void put_rows(const std::vector<CellRow>& rows, size_t begin, size_t end, int64_t start_ms);
  void put_births(const std::vector<BirthEntry>& births, size_t begin, size_t end, int64_t start_ms);
  void put_scopes(const std::vector<ScopeEntry>& entries, size_t begin, size_t end);
  void put_kept(const std::vector<uint32_t>& ids, size_t begin, size_t end);
  void put_graphs(const std::vector<GraphRow>& rows);
  void put_openings(const std::vector<OpeningEntry>& entries);
  void put_tokens(const std::vector<TokenRow>& rows);
  void put_deaths(const std::vector<uint32_t>& ids, size_t begin, size_t end);

  const std::string& bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  size_t open(PacketType type);
  void close(size_t at);
  template <typename T>
  void put(T value);

  std::string bytes_;
};

// The append-only file. A failed append is truncated away, so that the file always ends with a whole packet. It uses
// write(2), not a mapping: both survive a kill of the process, but a mapped page for which the disk is full, or that
// someone truncated, would end the audited program with SIGBUS. Not thread-safe: it belongs to the writer thread.
class CaptureFile {
 public:
  // Claims the path: creates a file, or takes one of this user that leak-audit reserved for the first process. False
  // when it exists and has an owner; `size` is then 0.
  bool claim(const std::string& path, std::string* why_not);
  // The same for a file that leak-audit created and opened. It is locked until `settle_claim`. `path`, if not empty,
  // must be its name: compaction replaces the file there.
  bool claim_open(Descriptor file, const std::string& path, std::string* why_not);
  // Marks the file as owned. Called after the first packet, so that a process killed before leaves a file that is still
  // reserved instead of an empty capture.
  void settle_claim() noexcept;
  // Where the file can be opened again if the program closes its descriptor.
  void set_path(const std::string& path) { path_ = path; }
  // Whether the file can be written and read through `fd()`. Opens it again if the program closed its descriptor.
  bool is_reachable() noexcept;
  bool append(std::string_view bytes) noexcept;
  // Sets flags in the header, which needs no new block on the disk.
  void flag(uint8_t flags) noexcept;
  void close() noexcept;
  // Switches to the file that replaced this one on the disk.
  void adopt(Descriptor file, int64_t size) noexcept;

  int fd() const noexcept { return file_.get(); }
  int64_t size() const noexcept { return size_; }
  uint8_t flags() const noexcept { return flags_; }
  // Where it can be replaced; false if it was claimed without its name.
  const CapturePlace& place() const noexcept { return place_; }

 private:
  bool take(Descriptor file, std::string* why_not);

  GuardedDescriptor file_;
  std::string path_;  // empty if it is not known
  CapturePlace place_;
  int64_t size_ = 0;
  uint8_t flags_ = 0;
  bool claiming_ = false;
};

// Writes all bytes at `offset`. Where the file may not grow (RLIMIT_FSIZE), it returns false and raises no signal.
bool write_at(int fd, std::string_view bytes, int64_t offset) noexcept;

// Flags in another process's capture that this process's events are missing. Best effort.
void flag_foreign_loss(const std::string& path) noexcept;

// `text` as a JSON string literal with its quotes.
std::string json_quote(std::string_view text);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_FILE_H_
