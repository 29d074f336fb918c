// The capture file: how packets are laid out and appended. docs/capture-format.md is the specification.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_FILE_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "native/audit/audit.h"

namespace ltn::audit {

inline constexpr char kMagic[8] = {'L', 'T', 'N', 'A', 'U', 'D', 'I', 'T'};
inline constexpr uint32_t kFormatVersion = 1;

enum class PacketType : uint8_t { Start = 1, Site = 2, Tick = 3, End = 4, EnvironmentEnd = 5 };

// The counters of one (site, device), as they are now. Absolute values, so that a lost packet costs detail only.
struct CellRow {
  uint32_t site = 0;
  int8_t device_type = 0;
  int8_t device_index = -1;
  uint64_t live_tensors = 0;
  uint64_t live_bytes = 0;
  uint64_t allocated_tensors = 0;
  uint64_t allocated_bytes = 0;
  int64_t oldest_birth_ms = 0;  // on the steady clock; INT64_MIN when nothing lives
};

// What one interval tells about the whole process.
struct Tick {
  uint64_t ms = 0;  // since the capture's start
  Totals totals;
  uint64_t rss = 0;
  uint64_t heap_used = 0;
  uint64_t external = 0;
  uint64_t lost_events = 0;
  uint32_t collections = 0;
};

// Builds packets in memory. Not thread-safe: it belongs to the writer thread.
class PacketBuffer {
 public:
  void put_header();
  void put_text(PacketType type, std::string_view json);
  void put_site(uint32_t id, uint32_t parent, uint32_t env, std::string_view json);
  void put_environment_end(uint32_t env, uint64_t ms);
  // `start_ms` is the steady-clock time of the capture's start: births are written relative to it.
  void put_tick(const Tick& tick, const std::vector<CellRow>& rows, int64_t start_ms);

  const std::string& bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  size_t open(PacketType type);
  void close(size_t at);
  template <typename T>
  void put(T value);

  std::string bytes_;
};

// An append-only file descriptor. A failed append is cut off again, so that the file always ends with a whole packet.
// Not thread-safe: it belongs to the writer thread.
class CaptureFile {
 public:
  ~CaptureFile() { close(); }
  // Claims the path: fails when it exists already.
  bool claim(const std::string& path, std::string* why_not);
  bool append(const std::string& bytes) noexcept;
  void close() noexcept;

 private:
  int fd_ = -1;
  int64_t size_ = 0;
};

// `text` as a JSON string literal with its quotes.
std::string json_quote(std::string_view text);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_FILE_H_
