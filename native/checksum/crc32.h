// CRC-32 (IEEE 802.3, as in zlib, zip and PNG).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ltn::checksum {

// The checksum of bytes that follow those with the checksum `before`. Any thread.
uint32_t crc32(const void* data, size_t size, uint32_t before = 0) noexcept;

// The same on any processor: crc32() uses it where the processor has no carry-less multiplication, and for short data.
uint32_t crc32_by_tables(const void* data, size_t size, uint32_t before = 0) noexcept;

}  // namespace ltn::checksum
