// Compaction: the rounds that stay have the latest figures of the rounds dropped before them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "native/audit/compaction.h"
#include "test/native/support/packets.h"

namespace ltn::audit {
namespace {

TEST(AuditCompaction, EachRoundThatStaysHasItsSampling) {
  char pattern[] = "/tmp/ltn-audit-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);
  const std::string path = folder + "/c.ltna";
  CaptureFile file;
  std::string why_not;
  ASSERT_TRUE(file.claim(path, &why_not)) << why_not;
  constexpr uint64_t kRounds = 400;
  PacketBuffer out;
  out.put_header();
  for (uint64_t round = 1; round <= kRounds; ++round) {
    if (round % 3 != 0) out.put_sampling(round * 1000, round);  // a round without one keeps that of the round before
    Tick tick;
    tick.ms = round;
    out.put_tick(tick);
  }
  ASSERT_TRUE(file.append(out.bytes()));
  file.settle_claim();
  const int64_t target = file.size() / 10;
  Compacted done;
  ASSERT_TRUE(compact(
      &file, target, [](std::vector<BirthEntry>*) {}, &done));
  EXPECT_LE(file.size(), target);
  EXPECT_EQ(done.dropped_births, 0u);

  bool torn = false;
  uint64_t rounds = 0, last = 0, made = 0, distance = 0;
  for (const Packet& packet : parse(read_file(path), &torn)) {
    if (static_cast<PacketType>(packet.type) == PacketType::Sampling) {
      made = u64(packet.payload, 0);
      distance = u64(packet.payload, 8);
    } else if (static_cast<PacketType>(packet.type) == PacketType::Tick) {
      ++rounds;
      last = u64(packet.payload, 0);
      const uint64_t sampled = last % 3 == 0 ? last - 1 : last;
      EXPECT_EQ(made, sampled * 1000) << "round " << last;
      EXPECT_EQ(distance, sampled) << "round " << last;
    }
  }
  EXPECT_FALSE(torn);
  EXPECT_EQ(last, kRounds) << "the last round stays";
  EXPECT_GT(rounds, 3u);
  EXPECT_LT(rounds, kRounds / 5);
  file.close();
  ::unlink(path.c_str());
  EXPECT_EQ(::rmdir(folder.c_str()), 0);
}

}  // namespace
}  // namespace ltn::audit
