// The packets of a capture file, for tests.
#ifndef LIBTORCH_NODE_TEST_NATIVE_SUPPORT_PACKETS_H_
#define LIBTORCH_NODE_TEST_NATIVE_SUPPORT_PACKETS_H_

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "native/audit/capture_file.h"
#include "native/checksum/crc32.h"

namespace ltn::audit {

struct Packet {
  uint8_t type;
  std::string payload;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline uint32_t u32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, 4);
  return value;
}

inline uint64_t u64(const std::string& bytes, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, 8);
  return value;
}

// All complete packets; `torn` if data follows the last one.
inline std::vector<Packet> parse(const std::string& bytes, bool* torn) {
  std::vector<Packet> packets;
  EXPECT_EQ(bytes.substr(0, 8), "LTNAUDIT");
  EXPECT_EQ(u32(bytes, 8), 2u);
  size_t at = kHeaderBytes;
  *torn = false;
  while (at < bytes.size()) {
    const bool header = bytes.size() - at >= kPacketHeaderBytes && u32(bytes, at) == kSync &&
                        checksum::crc32(bytes.data() + at, 12) == u32(bytes, at + 12);
    const size_t length = header ? u32(bytes, at + 4) : 0;
    const size_t begin = at + kPacketHeaderBytes;
    if (!header || bytes.size() - begin < length ||
        checksum::crc32(bytes.data() + begin, length) != u32(bytes, at + 16)) {
      *torn = true;
      break;
    }
    packets.push_back({static_cast<uint8_t>(bytes[at + 8]), bytes.substr(begin, length)});
    at = begin + length;
  }
  return packets;
}

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_TEST_NATIVE_SUPPORT_PACKETS_H_
