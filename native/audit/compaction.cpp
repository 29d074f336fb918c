#include "native/audit/compaction.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace ltn::audit {

namespace {

constexpr size_t kFullBytes = size_t{1} << 20;
constexpr uint64_t kFineThinning = 16;  // up to this, the rounds before the end of a thread all stay
constexpr size_t kPlaceBytes = 12;      // of a row: site, label, device
constexpr size_t kSiteBytes = 4;        // of a row of graphs: site
constexpr size_t kTokenPlaceBytes = 8;  // of a row of tokens: site, origin

int sync_data(int fd) noexcept {
#if defined(__APPLE__)
  return ::fsync(fd);
#else
  return ::fdatasync(fd);
#endif
}

// Reads the packets of the file in order. The file's own writer wrote them, so lengths are trusted.
class Packets {
 public:
  Packets(int fd, int64_t size) : fd_(fd), size_(size) {}

  bool next() {
    std::array<char, kPacketHeaderBytes> header{};
    if (!read(header.data(), header.size())) return false;
    uint32_t sync = 0, length = 0;
    std::memcpy(&sync, header.data(), 4);
    std::memcpy(&length, header.data() + 4, 4);
    if (sync != kSync || length > kMaxPacketBytes) return false;
    type = static_cast<PacketType>(header[8]);
    payload.resize(length);
    return read(payload.data(), length);
  }

  // The type of the next packet; Start if there is none.
  PacketType peek() const {
    std::array<char, kPacketHeaderBytes> header{};
    if (::pread(fd_, header.data(), header.size(), at_) != static_cast<ssize_t>(header.size()))
      return PacketType::Start;
    return static_cast<PacketType>(header[8]);
  }

  PacketType type = PacketType::Start;
  std::string payload;

 private:
  bool read(char* to, size_t bytes) {
    if (at_ + static_cast<int64_t>(bytes) > size_) return false;
    for (size_t done = 0; done < bytes;) {
      const ssize_t n = ::pread(fd_, to + done, bytes - done, at_);
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
      at_ += n;
    }
    return true;
  }

  int fd_;
  int64_t size_;
  int64_t at_ = kHeaderBytes;
};

struct Sizes {
  int64_t fixed = 0, rounds = 0, births = 0;
  uint64_t count = 0;  // rounds
};

template <typename KeepLive>
std::vector<BirthEntry> live_of(const std::string& payload, const KeepLive& keep_live) {
  std::vector<BirthEntry> births(payload.size() / kBirthBytes);
  std::memcpy(births.data(), payload.data(), births.size() * kBirthBytes);
  keep_live(&births);
  return births;
}

class Compaction {
 public:
  Compaction(CaptureFile* file, const std::function<void(std::vector<BirthEntry>*)>& keep)
      : file_(file), keep_live_(keep) {}
  ~Compaction() {
    if (new_) file_->place().remove_temporary(temporary_, new_.get());
  }
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;

  // Measures the parts. Deaths need no space: the dead are dropped.
  Sizes measure() {
    Sizes sizes;
    for (Packets packets(file_->fd(), file_->size()); packets.next();) {
      const auto bytes = static_cast<int64_t>(packets.payload.size() + kPacketHeaderBytes);
      switch (packets.type) {
        case PacketType::Tick:
          ++sizes.count;
          [[fallthrough]];
        case PacketType::Rows:
        case PacketType::Graphs:
        case PacketType::Sampling:
        case PacketType::Tokens:
          sizes.rounds += bytes;
          break;
        case PacketType::Births:
          sizes.births += static_cast<int64_t>(live_of(packets.payload, keep_live_).size() * kBirthBytes);
          break;
        case PacketType::Deaths:
        case PacketType::Scopes:  // births have it, except for the scope's number
        case PacketType::Kept:
        case PacketType::Openings:
        case PacketType::Dropped:
          break;
        default:
          sizes.fixed += bytes;
      }
    }
    return sizes;
  }

  // Writes the new file with every `thinning`-th round, and without the first `skip` live births.
  bool write(uint64_t count, uint64_t thinning, uint64_t skip) {
    if (!file_->place()) return false;
    if (!new_) new_ = file_->place().make_temporary(&temporary_);
    if (!new_ || ::ftruncate(new_.get(), 0) != 0) return false;
    size_ = 0;
    rows_.clear();
    graphs_.clear();
    tokens_.clear();
    sampling_.clear();
    out_.clear();
    out_.put_header(file_->flags() | kCapped);
    uint64_t round = 0;
    for (Packets packets(file_->fd(), file_->size()); packets.next();) {
      switch (packets.type) {
        case PacketType::Rows:
          for (size_t at = 0; at + kRowBytes <= packets.payload.size(); at += kRowBytes) {
            rows_[packets.payload.substr(at, kPlaceBytes)] = packets.payload.substr(at, kRowBytes);
          }
          break;
        case PacketType::Graphs:
          for (size_t at = 0; at + kGraphBytes <= packets.payload.size(); at += kGraphBytes) {
            graphs_[packets.payload.substr(at, kSiteBytes)] = packets.payload.substr(at, kGraphBytes);
          }
          break;
        case PacketType::Tokens:
          for (size_t at = 0; at + kTokenBytes <= packets.payload.size(); at += kTokenBytes) {
            tokens_[packets.payload.substr(at, kTokenPlaceBytes)] = packets.payload.substr(at, kTokenBytes);
          }
          break;
        case PacketType::Sampling:
          sampling_ = packets.payload;
          break;
        case PacketType::Tick: {
          ++round;
          // Counted from the end: the last round always stays.
          const bool before_end = thinning <= kFineThinning && packets.peek() == PacketType::EnvironmentEnd;
          if ((count - round) % thinning == 0 || before_end) put_round(packets.payload);
          break;
        }
        case PacketType::Births: {
          std::vector<BirthEntry> births = live_of(packets.payload, keep_live_);
          const uint64_t without = std::min<uint64_t>(skip, births.size());
          skip -= without;
          if (without < births.size()) out_.put_births(births, without, births.size(), 0);
          break;
        }
        case PacketType::Deaths:
        case PacketType::Scopes:
        case PacketType::Kept:
        case PacketType::Openings:
        case PacketType::Dropped:
          break;
        default:
          out_.put_packet(packets.type, packets.payload);
      }
      if (out_.bytes().size() > kFullBytes && !flush()) return false;
    }
    return flush();
  }

  bool replace() {
    char foreign = 0;  // set by another process in the meantime
    if (::pread(file_->fd(), &foreign, 1, kForeignFlagsAt) == 1 && foreign != 0) {
      write_at(new_.get(), std::string_view(&foreign, 1), kForeignFlagsAt);
    }
    // Data before the rename: after a machine crash the name must not refer to an empty file.
    if (sync_data(new_.get()) != 0 && errno != EINVAL && errno != ENOSYS) return false;
    if (!file_->place().replace(file_->fd(), new_.get(), temporary_)) return false;
    file_->adopt(std::move(new_), size_);
    return true;
  }

  int64_t size() const { return size_; }

 private:
  void put_round(const std::string& payload) {
    std::string rows;
    for (const auto& [place, row] : rows_) rows += row;
    rows_.clear();
    for (size_t at = 0; at < rows.size(); at += kFullBytes / kRowBytes * kRowBytes) {
      out_.put_packet(PacketType::Rows, std::string_view(rows).substr(at, kFullBytes / kRowBytes * kRowBytes));
    }
    std::string graphs;
    for (const auto& [site, row] : graphs_) graphs += row;
    graphs_.clear();
    for (size_t at = 0; at < graphs.size(); at += kFullBytes / kGraphBytes * kGraphBytes) {
      out_.put_packet(PacketType::Graphs, std::string_view(graphs).substr(at, kFullBytes / kGraphBytes * kGraphBytes));
    }
    std::string tokens;
    for (const auto& [place, row] : tokens_) tokens += row;
    tokens_.clear();
    if (!tokens.empty()) out_.put_packet(PacketType::Tokens, tokens);
    if (!sampling_.empty()) out_.put_packet(PacketType::Sampling, sampling_);
    sampling_.clear();
    out_.put_packet(PacketType::Tick, payload);
  }

  bool flush() {
    const bool written = write_at(new_.get(), out_.bytes(), size_);
    size_ += static_cast<int64_t>(out_.bytes().size());
    out_.clear();
    return written;
  }

  CaptureFile* const file_;
  const std::function<void(std::vector<BirthEntry>*)>& keep_live_;
  Descriptor new_;  // its name is temporary_
  std::string temporary_;
  int64_t size_ = 0;
  PacketBuffer out_;
  std::map<std::string, std::string> rows_;    // by (site, label, device), since the last round that stays
  std::map<std::string, std::string> graphs_;  // by site, since then
  std::map<std::string, std::string> tokens_;  // by site and origin, since then
  std::string sampling_;                       // the latest
};

}  // namespace

bool compact(CaptureFile* file, int64_t target, const std::function<void(std::vector<BirthEntry>*)>& keep_live,
             Compacted* done) {
  Compaction compaction(file, keep_live);
  const Sizes sizes = compaction.measure();
  // At least half of the free space is for rounds: detail is worth less than the curve.
  const int64_t free_bytes = std::max<int64_t>(0, target - sizes.fixed);
  const int64_t for_births = std::min(sizes.births, free_bytes / 2);
  const auto skip = static_cast<uint64_t>((sizes.births - for_births) / static_cast<int64_t>(kBirthBytes));
  const int64_t for_rounds = std::max<int64_t>(1, free_bytes - for_births);
  auto thinning = static_cast<uint64_t>(sizes.rounds / for_rounds + 1);
  // Dropping rounds does not reduce rows that change in few rounds each. So double until it fits or one round is left.
  for (;; thinning *= 2) {
    if (!compaction.write(sizes.count, thinning, skip)) return false;
    if (compaction.size() <= target || thinning > std::max<uint64_t>(sizes.count, 1)) break;
  }
  if (compaction.size() >= file->size() || !compaction.replace()) return false;
  file->flag(kCapped);
  done->dropped_births += skip;
  return true;
}

}  // namespace ltn::audit
