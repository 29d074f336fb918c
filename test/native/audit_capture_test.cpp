// The capture file as seen by a reader, also after a kill.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "native/audit/audit.h"
#include "native/audit/capture_file.h"
#include "test/native/support/packets.h"

namespace ltn::audit {
namespace {

class AuditCapture : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/ltn-audit-XXXXXX";
    folder = ::mkdtemp(pattern);
    path = folder + "/c.ltna";
  }
  void TearDown() override {
    stop("test");
    ::unlink(path.c_str());
    ::rmdir(folder.c_str());
  }
  Options options() const {
    Options o;
    o.path = path;
    o.interval_ms = 20;
    o.command = "a \"quoted\" command";
    return o;
  }
  size_t packets_now() const {
    const std::string bytes = read_file(path);
    bool torn = false;  // the last one may be incomplete
    return bytes.size() <= kHeaderBytes ? 0 : parse(bytes, &torn).size();
  }
  std::string folder, path;
};

TEST_F(AuditCapture, WritesStartSitesTicksAndEnd) {
  ASSERT_TRUE(start(options(), nullptr));
  EXPECT_TRUE(enabled());
  int storage = 0;
  Birth birth;
  birth.storage = &storage;
  birth.storage_bytes = 4096;
  birth.storage_is_new = true;
  birth.env = 9;
  const uint32_t record = created(birth, capture());
  EXPECT_NE(record, 0u);
  EXPECT_EQ(pending(9), 1u);
  const uint32_t site = define_site(0, R"([{"file":"a.js","line":1,"column":2,"function":"f"}])");
  tag_pending(9, site);
  note_heap(11, 22);
  stop("done");
  stop("again");
  EXPECT_FALSE(enabled());
  bool torn = false;
  const auto packets = parse(read_file(path), &torn);
  EXPECT_FALSE(torn);
  ASSERT_GE(packets.size(), 4u);
  EXPECT_EQ(packets.front().type, 1);
  EXPECT_NE(packets.front().payload.find(R"("command":"a \"quoted\" command")"), std::string::npos);
  EXPECT_EQ(packets.back().type, 4);
  EXPECT_NE(packets.back().payload.find(R"("reason":"done")"), std::string::npos);
  const Packet& tick = packets[packets.size() - 2];
  EXPECT_EQ(tick.type, 3);
  EXPECT_EQ(u32(tick.payload, 56), 11u);
  EXPECT_EQ(u32(tick.payload, 64), 22u);
  freed(record, capture());
  storage_released(&storage);
}

TEST_F(AuditCapture, IsClaimedByOneOnly) {
  ASSERT_TRUE(start(options(), nullptr));
  std::string why;
  EXPECT_FALSE(start(options(), &why));
  EXPECT_NE(why.find("running"), std::string::npos);
  stop("done");
  EXPECT_FALSE(start(options(), &why));
  EXPECT_NE(why.find("File exists"), std::string::npos);
}

TEST_F(AuditCapture, ClaimsAFileThatWaitsForItsFirstProcess) {
  PacketBuffer header;
  header.put_header(kReserved);
  std::ofstream(path, std::ios::binary) << header.bytes();
  bool taken = true;
  ASSERT_TRUE(start(options(), nullptr, &taken));
  EXPECT_FALSE(taken);
  CaptureFile second;
  std::string why;
  EXPECT_FALSE(second.claim(path, &why));
  stop("done");
  EXPECT_FALSE(start(options(), &why, &taken));
  EXPECT_TRUE(taken);
  bool torn = false;
  EXPECT_EQ(parse(read_file(path), &torn).front().type, 1);
  EXPECT_EQ(read_file(path)[kFlagsAt], 0);
}

TEST_F(AuditCapture, AClaimedFileStaysReservedUntilItsFirstPacket) {
  PacketBuffer header;
  header.put_header(kReserved);
  std::ofstream(path, std::ios::binary) << header.bytes();
  CaptureFile first, second;
  ASSERT_TRUE(first.claim(path, nullptr));
  EXPECT_EQ(read_file(path)[kFlagsAt], kReserved);
  EXPECT_FALSE(second.claim(path, nullptr));
  first.settle_claim();
  EXPECT_EQ(read_file(path)[kFlagsAt], 0);
  EXPECT_FALSE(second.claim(path, nullptr));
}

TEST_F(AuditCapture, TellsWhyNot) {
  Options o = options();
  o.path = folder + "/no/such/folder";
  std::string why;
  bool taken = true;
  EXPECT_FALSE(start(o, &why, &taken));
  EXPECT_FALSE(taken);
  EXPECT_NE(why.find("No such file"), std::string::npos);
}

TEST_F(AuditCapture, RecordsNothingWhenOffOrCounting) {
  EXPECT_EQ(created(Birth{}, capture()), 0u);
  Options o = options();
  o.mode = Options::Counters;
  ASSERT_TRUE(start(o, nullptr));
  EXPECT_EQ(created(Birth{}, capture()), 0u);
  EXPECT_EQ(pending(0), 0u);
  EXPECT_TRUE(recording());
  EXPECT_FALSE(enabled()) << "counting must not cost the handles layer anything";
}

TEST_F(AuditCapture, IsReadableAfterAKill) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(600);  // in case the parent does not kill it
    if (!start(options(), nullptr)) ::_exit(1);
    std::vector<int> identities(100'000);
    for (auto& identity : identities) {
      Birth birth;
      birth.storage = &identity;
      birth.storage_bytes = 100;
      birth.storage_is_new = true;
      created(birth, capture());
      tag_pending(0, 1);
      ::usleep(100);
    }
    for (;;) ::pause();  // until it is killed
  }
  // However late it writes some rounds.
  while (packets_now() < 5 && ::waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  bool torn = false;
  const auto packets = parse(read_file(path), &torn);
  EXPECT_FALSE(torn);
  EXPECT_GE(packets.size(), 5u);
  EXPECT_EQ(packets.back().type, 3);
}

TEST_F(AuditCapture, AReaderSeesATornTail) {
  ASSERT_TRUE(start(options(), nullptr));
  stop("done");
  const std::string whole = read_file(path);
  bool torn = false;
  const size_t n = parse(whole, &torn).size();
  EXPECT_EQ(parse(whole.substr(0, whole.size() - 3), &torn).size(), n - 1);
  EXPECT_TRUE(torn);
  std::string flipped = whole;
  flipped[flipped.size() - 2] = static_cast<char>(flipped[flipped.size() - 2] ^ 1);
  EXPECT_EQ(parse(flipped, &torn).size(), n - 1);
  EXPECT_TRUE(torn);
}

}  // namespace
}  // namespace ltn::audit
