#include "native/audit/capture_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "native/audit/crc32.h"

namespace ltn::audit {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "captures are little-endian");

template <typename T>
void PacketBuffer::put(T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes_.append(raw, sizeof(T));
}

void PacketBuffer::put_header() {
  bytes_.append(kMagic, sizeof(kMagic));
  put<uint32_t>(kFormatVersion);
  put<uint32_t>(0);  // flags, reserved
}

size_t PacketBuffer::open(PacketType type) {
  const size_t at = bytes_.size();
  put<uint32_t>(0);
  put<uint32_t>(0);
  put<uint8_t>(static_cast<uint8_t>(type));
  return at;
}

void PacketBuffer::close(size_t at) {
  const auto length = static_cast<uint32_t>(bytes_.size() - at - 8);
  const uint32_t crc = crc32(bytes_.data() + at + 8, length);
  std::memcpy(&bytes_[at], &length, 4);
  std::memcpy(&bytes_[at + 4], &crc, 4);
}

void PacketBuffer::put_text(PacketType type, std::string_view json) {
  const size_t at = open(type);
  bytes_.append(json);
  close(at);
}

void PacketBuffer::put_environment_end(uint32_t env, uint64_t ms) {
  const size_t at = open(PacketType::EnvironmentEnd);
  put(env);
  put(ms);
  close(at);
}

void PacketBuffer::put_site(uint32_t id, uint32_t parent, uint32_t env, std::string_view json) {
  const size_t at = open(PacketType::Site);
  put(id);
  put(parent);
  put(env);
  bytes_.append(json);
  close(at);
}

void PacketBuffer::put_tick(const Tick& tick, const std::vector<CellRow>& rows, int64_t start_ms) {
  const size_t at = open(PacketType::Tick);
  put(tick.ms);
  put(tick.totals.tensors);
  put(tick.totals.storages);
  put(tick.totals.bytes);
  put(tick.totals.allocated_bytes);
  put(tick.totals.peak_allocated_bytes);
  put(tick.rss);
  put(tick.heap_used);
  put(tick.external);
  put(tick.lost_events);
  put(tick.collections);
  put(static_cast<uint32_t>(rows.size()));
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  for (const CellRow& row : rows) {
    put(row.site);
    put(row.device_type);
    put(row.device_index);
    put<uint16_t>(0);
    put(row.live_tensors);
    put(row.live_bytes);
    put(row.allocated_tensors);
    put(row.allocated_bytes);
    put<int64_t>(row.oldest_birth_ms == kNone ? kNone : row.oldest_birth_ms - start_ms);
  }
  close(at);
}

bool CaptureFile::claim(const std::string& path, std::string* why_not) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (fd_ >= 0) return true;
  if (why_not != nullptr) *why_not = "cannot create " + path + ": " + std::strerror(errno);
  return false;
}

bool CaptureFile::append(const std::string& bytes) noexcept {
  if (fd_ < 0) return false;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      // Disk full or the like: a half packet would hide everything after it from the reader.
      if (::ftruncate(fd_, size_) != 0) close();
      return false;
    }
    done += static_cast<size_t>(n);
  }
  size_ += static_cast<int64_t>(bytes.size());
  return true;
}

void CaptureFile::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", u);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace ltn::audit
