// The capture file with little space: its size for live tensors, its cap, a full disk.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "native/audit/audit.h"
#include "native/audit/capture_file.h"
#include "test/native/support/packets.h"

namespace ltn::audit {
namespace {

struct Seen {
  std::set<uint32_t> births;
  std::map<uint32_t, uint64_t> allocated;  // by site
  std::map<uint32_t, uint64_t> live;
  uint64_t rounds = 0, dropped = 0, lost = 0;
  bool torn = false, has_end = false;
};

// A reader's view of a file. The recorder is global to the process, so each test has its own sites.
Seen read_seen(const std::string& path) {
  Seen seen;
  for (const Packet& packet : parse(read_file(path), &seen.torn)) {
    const std::string& p = packet.payload;
    switch (static_cast<PacketType>(packet.type)) {
      case PacketType::Births:
        for (size_t at = 0; at < p.size(); at += kBirthBytes) seen.births.insert(u32(p, at));
        break;
      case PacketType::Deaths:
        for (size_t at = 0; at < p.size(); at += 4) seen.births.erase(u32(p, at));
        break;
      case PacketType::Rows:
        for (size_t at = 0; at < p.size(); at += kRowBytes) {
          seen.live[u32(p, at)] = u64(p, at + 16);
          seen.allocated[u32(p, at)] = u64(p, at + 32);
        }
        break;
      case PacketType::Tick:
        ++seen.rounds;
        seen.lost = u64(p, 72);
        break;
      case PacketType::Dropped:
        seen.dropped = u64(p, 0);
        break;
      case PacketType::End:
        seen.has_end = true;
        break;
      default:
        break;
    }
  }
  return seen;
}

int64_t size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

class AuditRoom : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/ltn-audit-XXXXXX";
    folder = ::mkdtemp(pattern);
    options.path = folder + "/c.ltna";
    options.interval_ms = 10;
  }
  void TearDown() override {
    stop("test");
    for (const uint32_t record : records) freed(record, capture());
    ::unlink(options.path.c_str());
    EXPECT_EQ(::rmdir(folder.c_str()), 0) << "something was left in the folder";
  }
  uint32_t make(uint32_t site) {
    Birth birth;
    birth.device_index = -1;
    const uint32_t record = created(birth, capture());
    tag_pending(0, site);
    return record;
  }
  void rest() const { std::this_thread::sleep_for(std::chrono::milliseconds(options.interval_ms)); }
  // Waits until the file has changed this often, however late. A round changes it once, or twice if it frees space.
  void changes(int count) const {
    for (int i = 0; i < count; ++i) {
      for (const auto before = file(); file() == before;) rest();
    }
  }
  std::pair<ino_t, off_t> file() const {
    struct stat status {};
    EXPECT_EQ(::stat(options.path.c_str(), &status), 0);
    return {status.st_ino, status.st_size};
  }

  std::string folder;
  Options options;
  std::vector<uint32_t> records;
};

TEST_F(AuditRoom, TakesAtMost64BytesPerLiveTensor) {
  ASSERT_TRUE(start(options, nullptr));
  constexpr int kCount = 200'000;
  for (int i = 0; i < kCount; ++i) records.push_back(make(1));
  stop("done");
  const Seen seen = read_seen(options.path);
  EXPECT_EQ(seen.births.size(), size_t{kCount});
  EXPECT_EQ(seen.live.at(1), uint64_t{kCount});
  EXPECT_LE(size_of(options.path), int64_t{64} * kCount);
}

TEST_F(AuditRoom, ShortLivedTensorsAreOnlyInTheCounters) {
  options.interval_ms = 60'000;
  ASSERT_TRUE(start(options, nullptr));
  for (int i = 0; i < 200'000; ++i) freed(make(3), capture());
  records.push_back(make(3));
  stop("done");
  const Seen seen = read_seen(options.path);
  EXPECT_EQ(seen.births.size(), 1u);
  EXPECT_EQ(seen.allocated.at(3), 200'001u);
  EXPECT_LE(size_of(options.path), 4096);
}

TEST_F(AuditRoom, StaysUnderItsCapAndKeepsTheTotals) {
  options.max_bytes = 100'000;
  ASSERT_TRUE(start(options, nullptr));
  int64_t largest = 0;
  uint64_t made = 0;
  for (int batch = 0; batch < 100; ++batch) {
    std::vector<uint32_t> brief;
    for (int i = 0; i < 100; ++i) {
      records.push_back(make(4));
      brief.push_back(make(5));
      ++made;
    }
    changes(3);
    largest = std::max(largest, size_of(options.path));
    for (const uint32_t record : brief) freed(record, capture());
  }
  stop("done");
  largest = std::max(largest, size_of(options.path));
  EXPECT_LE(largest, static_cast<int64_t>(options.max_bytes));
  const Seen seen = read_seen(options.path);
  EXPECT_FALSE(seen.torn);
  EXPECT_TRUE(seen.has_end);
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.allocated.at(4), made);
  EXPECT_EQ(seen.allocated.at(5), made);
  EXPECT_EQ(seen.live.at(4), made);
  EXPECT_EQ(seen.live.at(5), 0u);
  EXPECT_GT(seen.rounds, 3u);
  EXPECT_GT(seen.dropped, 0u);
  EXPECT_EQ(seen.births.count(records.back()), 1u) << "the oldest detail goes first";
  EXPECT_EQ(seen.births.count(records.front()), 0u);
  EXPECT_GE(seen.births.size() + seen.dropped, made);
  EXPECT_EQ(read_file(options.path)[kFlagsAt] & kCapped, kCapped);
}

TEST_F(AuditRoom, AFileThatMayNotGrowIsFlaggedAndTheProgramLives) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{20'000, 20'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0 || !start(options, nullptr)) ::_exit(1);
    for (int i = 0; i < 5'000; ++i) make(1);
    for (int i = 0; i < 20; ++i) rest();
    stop("done");  // on this thread, which receives signals
    ::_exit(3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(read_file(options.path)[kFlagsAt] & kLost, kLost);
  EXPECT_FALSE(read_seen(options.path).torn);
}

}  // namespace
}  // namespace ltn::audit
