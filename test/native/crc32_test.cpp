// CRC-32: both ways to compute it, against the definition.
#include "native/checksum/crc32.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ltn::checksum {
namespace {

// One bit at a time, as IEEE 802.3 defines it.
uint32_t by_definition(const std::vector<uint8_t>& bytes) {
  uint32_t c = 0xFFFFFFFFU;
  for (const uint8_t byte : bytes) {
    c ^= byte;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1U) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
  }
  return ~c;
}

TEST(Crc32, MatchesTheCheckValue) {
  EXPECT_EQ(crc32("123456789", 9), 0xCBF43926U);
  EXPECT_EQ(crc32(nullptr, 0, 0xCBF43926U), 0xCBF43926U);
}

TEST(Crc32, EqualsTheDefinitionForEveryLengthAndCut) {
  std::mt19937 random(7);
  for (size_t length = 0; length < 300; ++length) {
    std::vector<uint8_t> bytes(length);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const uint32_t expected = by_definition(bytes);
    ASSERT_EQ(crc32_by_tables(bytes.data(), length), expected) << length << " bytes";
    for (size_t cut = 0; cut <= length; ++cut) {
      const uint32_t first = crc32(bytes.data(), cut);
      ASSERT_EQ(crc32(bytes.data() + cut, length - cut, first), expected) << length << " bytes, cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace ltn::checksum
