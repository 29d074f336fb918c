#include "native/audit/capture_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "native/audit/no_size_signal.h"
#include "native/checksum/crc32.h"

namespace ltn::audit {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "captures are little-endian");
static_assert(std::numeric_limits<float>::is_iec559 && sizeof(float) == 4, "weights are IEEE 754 in 4 bytes");

// Whole structures are written as they lie in memory. cli/capture/ reads these places, on any processor.
template <typename Row>
constexpr bool is_plain = std::is_trivially_copyable_v<Row>&& std::is_standard_layout_v<Row>;
static_assert(is_plain<BirthEntry> && is_plain<OpeningEntry> && is_plain<TokenRow> && is_plain<GraphRow>);
static_assert(offsetof(BirthEntry, shape) == 12 && offsetof(BirthEntry, birth_ms) == 16);
static_assert(offsetof(BirthEntry, bytes) == 24 && offsetof(BirthEntry, weight) == 32);
static_assert(offsetof(BirthEntry, storage) == 36 && offsetof(BirthEntry, device_type) == 40);
static_assert(offsetof(BirthEntry, flags) == 43 && offsetof(BirthEntry, env) == 44);
static_assert(offsetof(OpeningEntry, scope) == 4 && offsetof(OpeningEntry, site) == 8);
static_assert(offsetof(TokenRow, made) == 8 && offsetof(TokenRow, waiting_bytes) == 32);
static_assert(offsetof(GraphRow, tensors) == 8 && offsetof(GraphRow, hidden_bytes) == 32);

template <typename T>
void PacketBuffer::put(T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes_.append(raw, sizeof(T));
}

void PacketBuffer::put_header(uint8_t flags) {
  bytes_.append(kMagic, sizeof(kMagic));
  put<uint32_t>(kFormatVersion);
  put<uint32_t>(flags);
}

size_t PacketBuffer::open(PacketType type) {
  const size_t at = bytes_.size();
  put<uint32_t>(kSync);
  put<uint32_t>(0);
  put<uint32_t>(static_cast<uint8_t>(type));
  put<uint32_t>(0);
  put<uint32_t>(0);
  return at;
}

void PacketBuffer::close(size_t at) {
  const size_t begin = at + kPacketHeaderBytes;
  const auto length = static_cast<uint32_t>(bytes_.size() - begin);
  std::memcpy(&bytes_[at + 4], &length, 4);
  // The header has its own checksum: when it is right, a reader can skip a damaged packet.
  const uint32_t head = checksum::crc32(bytes_.data() + at, 12);
  const uint32_t body = checksum::crc32(bytes_.data() + begin, length);
  std::memcpy(&bytes_[at + 12], &head, 4);
  std::memcpy(&bytes_[at + 16], &body, 4);
}

void PacketBuffer::put_packet(PacketType type, std::string_view payload) {
  const size_t at = open(type);
  bytes_.append(payload);
  close(at);
}

void PacketBuffer::put_text(PacketType type, std::string_view json) { put_packet(type, json); }

void PacketBuffer::put_environment_end(uint32_t env, uint64_t ms) {
  const size_t at = open(PacketType::EnvironmentEnd);
  put(env);
  put(ms);
  close(at);
}

void PacketBuffer::put_dropped(uint64_t births) {
  const size_t at = open(PacketType::Dropped);
  put(births);
  close(at);
}

void PacketBuffer::put_sampling(uint64_t storages, uint64_t distance) {
  const size_t at = open(PacketType::Sampling);
  put(storages);
  put(distance);
  close(at);
}

void PacketBuffer::put_mark(uint64_t ms, std::string_view name) {
  const size_t at = open(PacketType::Mark);
  put(ms);
  bytes_.append(name);
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

void PacketBuffer::put_shape(uint32_t id, const std::vector<int64_t>& sizes) {
  const size_t at = open(PacketType::Shape);
  put(id);
  for (const int64_t size : sizes) put(size);
  close(at);
}

void PacketBuffer::put_label(uint32_t id, std::string_view json) {
  const size_t at = open(PacketType::Label);
  put(id);
  bytes_.append(json);
  close(at);
}

void PacketBuffer::put_tick(const Tick& tick) {
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
  put(tick.collected_ms);
  put(tick.cpu_us);
  close(at);
}

void PacketBuffer::put_rows(const std::vector<CellRow>& rows, size_t begin, size_t end, int64_t start_ms) {
  const size_t at = open(PacketType::Rows);
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  for (size_t i = begin; i < end; ++i) {
    const CellRow& row = rows[i];
    put(row.site);
    put(row.label);
    put(row.device_type);
    put(row.device_index);
    put<uint16_t>(0);
    put<uint32_t>(0);
    put(row.live_tensors);
    put(row.live_bytes);
    put(row.allocated_tensors);
    put(row.allocated_bytes);
    put<int64_t>(row.oldest_birth_ms == kNone ? kNone : row.oldest_birth_ms - start_ms);
  }
  close(at);
}

void PacketBuffer::put_births(const std::vector<BirthEntry>& births, size_t begin, size_t end, int64_t start_ms) {
  const size_t at = open(PacketType::Births);
  for (size_t i = begin; i < end; ++i) {
    BirthEntry birth = births[i];
    birth.birth_ms -= start_ms;
    put(birth);
  }
  close(at);
}

void PacketBuffer::put_scopes(const std::vector<ScopeEntry>& entries, size_t begin, size_t end) {
  const size_t at = open(PacketType::Scopes);
  for (size_t i = begin; i < end; ++i) {
    put(entries[i].id);
    put(entries[i].scope);
  }
  close(at);
}

void PacketBuffer::put_kept(const std::vector<uint32_t>& ids, size_t begin, size_t end) {
  const size_t at = open(PacketType::Kept);
  for (size_t i = begin; i < end; ++i) put(ids[i]);
  close(at);
}

void PacketBuffer::put_graphs(const std::vector<GraphRow>& rows) {
  const size_t at = open(PacketType::Graphs);
  for (const GraphRow& row : rows) put(row);
  close(at);
}

void PacketBuffer::put_openings(const std::vector<OpeningEntry>& entries) {
  const size_t at = open(PacketType::Openings);
  for (const OpeningEntry& entry : entries) put(entry);
  close(at);
}

void PacketBuffer::put_tokens(const std::vector<TokenRow>& rows) {
  const size_t at = open(PacketType::Tokens);
  for (const TokenRow& row : rows) put(row);
  close(at);
}

void PacketBuffer::put_deaths(const std::vector<uint32_t>& ids, size_t begin, size_t end) {
  const size_t at = open(PacketType::Deaths);
  for (size_t i = begin; i < end; ++i) put(ids[i]);
  close(at);
}

bool write_at(int fd, std::string_view bytes, int64_t offset) noexcept {
  const NoSizeSignal guard;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pwrite(fd, bytes.data() + done, bytes.size() - done, offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool CaptureFile::take(Descriptor file, std::string* why_not) {
  const int fd = file.get();
  struct stat found {};
  char header[kHeaderBytes];
  const bool ours = ::fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                    ::pread(fd, header, kHeaderBytes, 0) == kHeaderBytes &&
                    std::memcmp(header, kMagic, sizeof(kMagic)) == 0 && (header[kFlagsAt] & kReserved) != 0 &&
                    ::ftruncate(fd, kHeaderBytes) == 0;
  if (ours) {
    file_ = GuardedDescriptor(std::move(file));
    size_ = kHeaderBytes;
    claiming_ = true;
    return true;
  }
  ::flock(fd, LOCK_UN);
  if (why_not != nullptr) *why_not = "the file is not a capture reserved for a process";
  errno = EINVAL;
  return false;
}

bool CaptureFile::claim_open(Descriptor file, const std::string& path, std::string* why_not) {
  close();
  flags_ = 0;
  size_ = 0;
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || found.st_uid != ::geteuid()) {
    // Its owner could read what is written to it.
    if (why_not != nullptr) *why_not = "the file belongs to another user";
    errno = EACCES;
    return false;
  }
  // The path names another file, or none, if the process has another view of the file system.
  if (!path.empty() && (!place_.open(path) || !place_.holds(file.get()))) {
    place_.close();
    if (why_not != nullptr) *why_not = "--max-size requires a file that the process sees under the same name";
    errno = EINVAL;
    return false;
  }
  const int fd = file.get();
  if (!take(std::move(file), why_not)) return false;
  static_cast<void>(::fchmod(fd, 0600));  // leak-audit made it so; where modes do not exist, nothing can be done
  return true;
}

bool CaptureFile::claim(const std::string& path, std::string* why_not) {
  close();
  flags_ = 0;
  size_ = 0;
  if (place_.open(path)) {
    file_ = GuardedDescriptor(place_.make_file());
    if (file_) return true;
  }
  int code = errno;
  if (place_ && code == EEXIST) {
    Descriptor there = place_.open_file();
    code = errno;
    struct stat found {};
    if (there && (::fstat(there.get(), &found) != 0 || found.st_uid != ::geteuid())) {
      // Whoever planted it could read what is written to it.
      if (why_not != nullptr) *why_not = "cannot write to " + path + ": the file belongs to another user";
      place_.close();
      errno = EACCES;
      return false;
    }
    if (there) {
      code = EEXIST;
      const int fd = there.get();
      if (take(std::move(there), why_not)) {
        static_cast<void>(::fchmod(fd, 0600));  // leak-audit made it so; where modes do not exist, nothing can be done
        return true;
      }
    }
  }
  place_.close();
  if (why_not != nullptr) *why_not = "cannot create " + path + ": " + std::strerror(code);
  errno = code;
  return false;
}

void CaptureFile::settle_claim() noexcept {
  if (!claiming_ || !is_reachable()) return;
  // If this write fails, the lock alone keeps others from taking the file.
  if (!write_at(fd(), std::string_view("\0", 1), kFlagsAt)) return;
  ::flock(fd(), LOCK_UN);
  claiming_ = false;
}

bool CaptureFile::is_reachable() noexcept {
  if (!file_ || file_.is_intact()) return static_cast<bool>(file_);
  try {
    CapturePlace place;
    if (path_.empty() || !place.open(path_)) return false;
    Descriptor again = place.open_file();
    if (!file_.is_of(again.get())) return false;  // another file has the name
    file_ = GuardedDescriptor(std::move(again));
    if (place_.was_open()) place_ = std::move(place);
    return true;
  } catch (...) {  // out of memory
    return false;
  }
}

bool CaptureFile::append(std::string_view bytes) noexcept {
  if (!is_reachable()) return false;
  if (!write_at(fd(), bytes, size_)) {
    const int code = errno;
    // A half packet would hide everything after it from the reader.
    if (::ftruncate(fd(), size_) != 0) close();
    if (code == ENOSPC || code == EDQUOT || code == EFBIG) flag(kFull);
    return false;
  }
  size_ += static_cast<int64_t>(bytes.size());
  return true;
}

void CaptureFile::flag(uint8_t flags) noexcept {
  if ((flags_ | flags) == flags_ || !is_reachable()) return;
  const char byte = static_cast<char>(flags_ | flags);
  if (write_at(fd(), std::string_view(&byte, 1), kFlagsAt)) flags_ |= flags;
}

void CaptureFile::adopt(Descriptor file, int64_t size) noexcept {
  file_ = GuardedDescriptor(std::move(file));
  size_ = size;
}

void CaptureFile::close() noexcept {
  file_.reset();
  place_.close();
  claiming_ = false;
}

void flag_foreign_loss(const std::string& path) noexcept {
  try {
    CapturePlace place;
    if (!place.open(path)) return;
    const Descriptor file = place.open_file();
    char header[kHeaderBytes];
    const char flags = kLost;
    // Only into a capture: any other file of this name is left unchanged.
    if (file && ::pread(file.get(), header, kHeaderBytes, 0) == kHeaderBytes &&
        std::memcmp(header, kMagic, sizeof(kMagic)) == 0)
      write_at(file.get(), std::string_view(&flags, 1), kForeignFlagsAt);
  } catch (...) {  // out of memory: the missing events stay unflagged
  }
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
