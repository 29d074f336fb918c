// CRC-32 (IEEE 802.3, as in zlib and PNG), so that a reader can detect a torn packet.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_CRC32_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_CRC32_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace ltn::audit {

namespace internal {
constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}
inline constexpr std::array<uint32_t, 256> crc_table = make_crc_table();
}  // namespace internal

inline uint32_t crc32(const void* data, size_t size) noexcept {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t c = 0xFFFFFFFFU;
  for (size_t i = 0; i < size; ++i) c = internal::crc_table[(c ^ bytes[i]) & 0xFFU] ^ (c >> 8);
  return c ^ 0xFFFFFFFFU;
}

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_CRC32_H_
