#include "native/checksum/crc32.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ltn::checksum {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as they lie in memory");

constexpr uint32_t kPolynomial = 0xEDB88320U;  // with its bits in reverse order, as are all sums here
constexpr size_t kWord = 8;

using Tables = std::array<std::array<uint32_t, 256>, kWord>;

// tables[k][b]: the sum of byte b followed by k zeros.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? kPolynomial ^ (c >> 1) : c >> 1;
    tables[0][i] = c;
  }
  for (size_t k = 1; k < kWord; ++k) {
    for (uint32_t i = 0; i < 256; ++i) tables[k][i] = tables[0][tables[k - 1][i] & 0xFFU] ^ (tables[k - 1][i] >> 8);
  }
  return tables;
}
constexpr Tables kTables = make_tables();

// Eight bytes at a time. `c` is the sum with its bits inverted.
uint32_t by_tables(const uint8_t* bytes, size_t size, uint32_t c) noexcept {
  for (; size >= kWord; bytes += kWord, size -= kWord) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, kWord);
    word ^= c;
    c = 0;
    for (size_t k = 0; k < kWord; ++k) c ^= kTables[kWord - 1 - k][(word >> (8 * k)) & 0xFFU];
  }
  for (size_t i = 0; i < size; ++i) c = kTables[0][(c ^ bytes[i]) & 0xFFU] ^ (c >> 8);
  return c;
}

#if defined(__x86_64__)
constexpr size_t kLane = 16;
constexpr size_t kStep = 4 * kLane;

#define LTN_CLMUL __attribute__((target("pclmul,sse4.1")))

LTN_CLMUL inline __m128i load(const uint8_t* bytes) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

// `lane` moved over the distance that the two constants stand for, plus `next`.
LTN_CLMUL inline __m128i fold(__m128i lane, __m128i constants, __m128i next) noexcept {
  const __m128i low = _mm_clmulepi64_si128(lane, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(lane, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// By carry-less multiplication, which tables cannot come near: Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), with the constants of its section for this polynomial. `size`
// is a multiple of kLane and at least kStep.
LTN_CLMUL uint32_t by_multiplication(const uint8_t* bytes, size_t size, uint32_t c) noexcept {
  const __m128i four_lanes = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i one_lane = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const __m128i half_lane = _mm_set_epi64x(0, 0x0163cd6124);
  const __m128i reduction = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  const __m128i low_half = _mm_setr_epi32(-1, 0, -1, 0);

  __m128i lanes[4];
  for (size_t k = 0; k < 4; ++k) lanes[k] = load(bytes + k * kLane);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(c)));
  bytes += kStep;
  size -= kStep;
  for (; size >= kStep; bytes += kStep, size -= kStep) {
    for (size_t k = 0; k < 4; ++k) lanes[k] = fold(lanes[k], four_lanes, load(bytes + k * kLane));
  }
  __m128i x = lanes[0];
  for (size_t k = 1; k < 4; ++k) x = fold(x, one_lane, lanes[k]);
  for (; size >= kLane; bytes += kLane, size -= kLane) x = fold(x, one_lane, load(bytes));

  // From 128 bits to 64, and by Barrett's reduction to 32.
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, one_lane, 0x10));
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low_half), half_lane, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, low_half), reduction, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_half), reduction, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, quotient), 1));
}

#undef LTN_CLMUL

bool has_multiplication() noexcept {
  static const bool has = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  return has;
}
#endif

}  // namespace

uint32_t crc32(const void* data, size_t size, uint32_t before) noexcept {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t c = ~before;
#if defined(__x86_64__)
  if (size >= kStep && has_multiplication()) {
    const size_t whole = size & ~(kLane - 1);
    c = by_multiplication(bytes, whole, c);
    bytes += whole;
    size -= whole;
  }
#endif
  return ~by_tables(bytes, size, c);
}

uint32_t crc32_by_tables(const void* data, size_t size, uint32_t before) noexcept {
  return ~by_tables(static_cast<const uint8_t*>(data), size, ~before);
}

}  // namespace ltn::checksum
