#include "native/convert/integers.h"

#include <c10/util/TypeCast.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ltn {
namespace {

// Each element is read once, into a block: another thread may write to shared memory between the check and the
// conversion. The block stays in the processor's cache. The loops have no branch, so the compiler vectorizes them.
constexpr size_t kBlock = 1024;

// Whether libtorch cuts off the fraction before it compares with the largest integer: 127.5 is 127 as an int8. From
// some release after 2.6 on.
const bool kCutsFirst = !c10::overflows<int8_t, double>(127.5);

// The largest integer of 64 bits is not a double: the next double is too large, so the previous one is the largest.
template <class To>
double largest() {
  constexpr auto most = static_cast<double>(std::numeric_limits<To>::max());
  if constexpr (sizeof(To) == 8) return most * (1 - 0x1p-53);
  return kCutsFirst ? (most + 1) * (1 - 0x1p-53) : most;
}

// `value` itself if it is an integer. Up to 32 bits: the sum has no bits for a fraction. 64 bits: by a function call.
template <class To>
double whole(double value) {
  constexpr double kNoFraction = 0x1.8p52;
  return sizeof(To) < 8 ? (value + kNoFraction) - kNoFraction : std::trunc(value);
}

template <class To, Numbers numbers, class From>
bool fits(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    const double most = largest<To>();
    const auto number = static_cast<double>(value);
    if constexpr (std::is_signed_v<To>) {
      return (number >= static_cast<double>(std::numeric_limits<To>::min())) & (number <= most);
    } else if constexpr (numbers == Numbers::kFloats) {
      return (number >= 0) & (number <= most);
    } else {
      return (number <= most) & ((number >= 0) | ((number >= -most) & (number == whole<To>(number))));
    }
  } else if constexpr (std::is_unsigned_v<From>) {
    return static_cast<uint64_t>(value) <= static_cast<uint64_t>(std::numeric_limits<To>::max());
  } else if constexpr (std::is_signed_v<To>) {
    return (static_cast<int64_t>(value) >= static_cast<int64_t>(std::numeric_limits<To>::min())) &
           (static_cast<int64_t>(value) <= static_cast<int64_t>(std::numeric_limits<To>::max()));
  } else if constexpr (sizeof(To) == 8) {
    return true;  // every negative integer is above minus the largest
  } else {
    constexpr auto most = static_cast<int64_t>(std::numeric_limits<To>::max());
    return (static_cast<int64_t>(value) >= -most) & (static_cast<int64_t>(value) <= most);
  }
}

// Of a value that fits.
template <class To, class From>
To converted(From value) {
  if constexpr (!std::is_floating_point_v<From> || std::is_signed_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (sizeof(To) < 8) {
    return static_cast<To>(static_cast<int64_t>(value));  // casting a negative value directly is undefined
  } else {
    return value < 0 ? To{0} - static_cast<To>(-value) : static_cast<To>(value);
  }
}

template <class From, class To, Numbers numbers>
bool write(const From* from, size_t count, To* to) noexcept {
  From block[kBlock];
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t size = std::min(kBlock, count - at);
    std::memcpy(block, from + at, size * sizeof(From));
    unsigned good = 1;
    for (size_t i = 0; i < size; ++i) good &= static_cast<unsigned>(fits<To, numbers>(block[i]));
    if (good == 0) return false;
    for (size_t i = 0; i < size; ++i) to[at + i] = converted<To>(block[i]);
  }
  return true;
}

struct Job {
  const void* data;
  size_t count;
  Numbers numbers;
  void* result;
};

template <class From, class To>
bool write_as(const Job& job) noexcept {
  const auto* from = static_cast<const From*>(job.data);
  auto* to = static_cast<To*>(job.result);
  if constexpr (std::is_same_v<From, double>) {
    if (job.numbers == Numbers::kAsTheyAre) return write<From, To, Numbers::kAsTheyAre>(from, job.count, to);
  }
  return write<From, To, Numbers::kFloats>(from, job.count, to);
}

// uint16, uint32 and uint64 came with libtorch 2.3.
template <class Type, class Use>
auto with_wide_unsigned(Type type, Use use, int) -> decltype(static_cast<void>(Type::UInt64), bool()) {
  if (type == Type::UInt16) return use(uint16_t{});
  if (type == Type::UInt32) return use(uint32_t{});
  return type == Type::UInt64 && use(uint64_t{});
}
template <class Type, class Use>
bool with_wide_unsigned(Type, Use, long) {  // chosen if the other overload does not exist
  return false;
}

template <class Use>
bool with_integers(c10::ScalarType type, Use use) {
  switch (type) {
    case c10::ScalarType::Byte:
      return use(uint8_t{});
    case c10::ScalarType::Char:
      return use(int8_t{});
    case c10::ScalarType::Short:
      return use(int16_t{});
    case c10::ScalarType::Int:
      return use(int32_t{});
    case c10::ScalarType::Long:
      return use(int64_t{});
    default:
      return with_wide_unsigned(type, use, 0);
  }
}

template <class Use>
bool with_numbers(c10::ScalarType type, Use use) {
  if (type == c10::ScalarType::Double) return use(double{});
  if (type == c10::ScalarType::Float) return use(float{});
  return with_integers(type, use);
}

constexpr auto kYes = [](auto) { return true; };

}  // namespace

bool makes_integers(c10::ScalarType from, c10::ScalarType to) noexcept {
  return with_numbers(from, kYes) && with_integers(to, kYes);
}

bool write_integers(c10::ScalarType from, const void* data, size_t count, Numbers numbers, c10::ScalarType to,
                    void* result) noexcept {
  const Job job{data, count, numbers, result};
  return with_numbers(from, [&](auto source) {
    return with_integers(to, [&](auto target) { return write_as<decltype(source), decltype(target)>(job); });
  });
}

}  // namespace ltn
