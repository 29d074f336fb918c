// Archives for libtorch's reader: random access behind a std::istream.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <streambuf>
#include <utility>
#include <vector>

namespace ltn::models {

// Unbuffered: libtorch reads an entry at a time. Lifetime: a local of the load; the source belongs to the caller.
// Thread: that of the call.
class ArchiveBuffer : public std::streambuf {
 protected:
  explicit ArchiveBuffer(int64_t size) : size_(size) {}

  // Copies up to `count` bytes, which should exist. Returns the number copied; 0 if there are none after all.
  virtual int64_t copy(int64_t from, char* to, int64_t count) = 0;

 private:
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    const int64_t wanted = std::min<int64_t>(count, size_ - at_);
    int64_t done = 0;
    while (done < wanted) {
      const int64_t part = copy(at_ + done, to + done, wanted - done);
      if (part <= 0) break;
      done += part;
    }
    at_ += done;
    return done;
  }
  int_type underflow() override {
    char next = 0;
    return at_ < size_ && copy(at_, &next, 1) == 1 ? traits_type::to_int_type(next) : traits_type::eof();
  }
  int_type uflow() override {
    const int_type next = underflow();
    if (!traits_type::eq_int_type(next, traits_type::eof())) ++at_;
    return next;
  }
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    const off_type base = from == std::ios_base::beg ? 0 : from == std::ios_base::cur ? at_ : size_;
    const off_type target = base + offset;
    if (target < 0 || target > size_) return pos_type(off_type(-1));
    at_ = target;
    return target;
  }
  pos_type seekpos(pos_type to, std::ios_base::openmode which) override {
    return seekoff(off_type(to), std::ios_base::beg, which);
  }

  const int64_t size_;
  int64_t at_ = 0;
};

// An archive in memory.
class MemoryArchive : public ArchiveBuffer {
 public:
  MemoryArchive(const char* bytes, int64_t size) : ArchiveBuffer(size), bytes_(bytes) {}

 private:
  int64_t copy(int64_t from, char* to, int64_t count) override {
    std::memcpy(to, bytes_ + from, static_cast<size_t>(count));
    return count;
  }

  const char* const bytes_;
};

// A file of which some ranges were read before: libtorch gets those bytes, whatever was written to the file since. So
// the structure and code that it reads are the checked ones, and only tensor data comes from the file.
class FileArchive : public ArchiveBuffer {
 public:
  struct Range {
    int64_t from;
    int64_t length;
  };

  // `held`: the concatenated bytes of `ranges`. The ranges are ordered and do not touch.
  FileArchive(int fd, int64_t size, const std::vector<Range>& ranges, const char* held) : ArchiveBuffer(size), fd_(fd) {
    for (const Range& range : ranges) {
      held_.push_back({range, held});
      held += range.length;
    }
  }

 private:
  struct Held {
    Range range;
    const char* bytes;
  };

  int64_t copy(int64_t from, char* to, int64_t count) override {
    const auto next = std::upper_bound(held_.begin(), held_.end(), from,
                                       [](int64_t place, const Held& held) { return place < held.range.from; });
    if (next != held_.begin()) {
      const Held& held = *std::prev(next);
      const int64_t inside = from - held.range.from;
      if (inside < held.range.length) {
        const int64_t part = std::min(count, held.range.length - inside);
        std::memcpy(to, held.bytes + inside, static_cast<size_t>(part));
        return part;
      }
    }
    if (next != held_.end()) count = std::min(count, next->range.from - from);
    ssize_t got = 0;
    do {
      got = pread(fd_, to, static_cast<size_t>(count), static_cast<off_t>(from));
    } while (got < 0 && errno == EINTR);
    return got;  // 0: the file was truncated in the meantime
  }

  const int fd_;
  std::vector<Held> held_;
};

}  // namespace ltn::models
