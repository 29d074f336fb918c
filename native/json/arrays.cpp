#include "native/json/arrays.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace ltn::json {
namespace {

// Moves over JSON text. Its functions return false, or no value, where the text does not continue as they expect.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  size_t at() const noexcept { return at_; }
  void go_to(size_t at) noexcept { at_ = at; }
  bool at_end() const noexcept { return at_ == text_.size(); }

  void skip_space() noexcept {
    while (!at_end() && is_space(text_[at_])) ++at_;
  }

  bool take(char wanted) noexcept {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  // After spaces.
  bool take_next(char wanted) noexcept {
    skip_space();
    return take(wanted);
  }

  // A string without escapes.
  std::optional<std::string_view> take_plain_string() noexcept {
    if (!take('"')) return std::nullopt;
    const size_t begin = at_;
    while (!at_end() && text_[at_] != '"') {
      if (text_[at_] == '\\') return std::nullopt;
      ++at_;
    }
    const std::string_view inside = text_.substr(begin, at_ - begin);
    return take('"') ? std::optional(inside) : std::nullopt;
  }

  // Any value, which is not checked.
  bool skip_value() noexcept {
    size_t depth = 0;
    const size_t begin = at_;
    while (!at_end()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at_ > begin;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
      ++at_;
    }
    return false;
  }

  // `[1, 2]` into `to`; the numbers written.
  template <class Number>
  std::optional<size_t> take_numbers(Number* to, size_t room) noexcept {
    if (!take('[')) return std::nullopt;
    if (take_next(']')) return 0;
    for (size_t count = 0;;) {
      count += take_zeros(to + count, room - count);
      if (count == room) return std::nullopt;
      if (take_digit(to[count]) || take_short_decimal(to[count])) {
        ++count;
        continue;
      }
      skip_space();
      if (!take_number(to[count])) return std::nullopt;
      ++count;
      skip_space();
      if (take(',')) continue;
      return take(']') ? std::optional(count) : std::nullopt;
    }
  }

 private:
  static bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  char peek() const noexcept { return at_end() ? '\0' : text_[at_]; }

  // Appends digits to `number`, which is right as long as they are at most 19; how many they are. Up to eight digits
  // are read in a few operations on one integer, without a branch for each (D. Lemire, "Quickly parsing eight digits",
  // 2018).
  size_t take_digits(uint64_t& number) noexcept {
    const size_t begin = at_;
    size_t count = 8;
    for (uint64_t eight = 0; count == 8 && next_eight(eight);) {
      count = leading_bytes(beyond_digits(eight));
      if (count == 0) break;
      number = kIntegerPowersOfTen[count] * number + number_of(eight, count);
      at_ += count;
    }
    for (; is_digit(peek()); ++at_) number = 10 * number + static_cast<uint64_t>(text_[at_] - '0');
    return at_ - begin;
  }

  // Runs of `0,`, which is most of sparse data, four at once; the numbers written.
  template <class Number>
  size_t take_zeros(Number* to, size_t room) noexcept {
    size_t count = 0;
    for (uint64_t eight = 0; room - count >= 4 && next_eight(eight);) {
      std::fill_n(to + count, 4, Number{0});
      const size_t zeros = leading_bytes(eight ^ 0x2C302C302C302C30) / 2;
      count += zeros;
      at_ += 2 * zeros;
      if (zeros < 4) break;
    }
    return count;
  }

  // The next eight characters, the first in the lowest byte; false near the end, and where integers are stored
  // otherwise.
  bool next_eight(uint64_t& eight) const noexcept {
    if (!kIsLittleEndian || text_.size() - at_ < sizeof(eight)) return false;
    std::memcpy(&eight, text_.data() + at_, sizeof(eight));
    return true;
  }

  // Of eight characters: a bit set in the first one that is not a digit, and none before it.
  static uint64_t beyond_digits(uint64_t eight) noexcept {
    eight ^= 0x3030303030303030;  // a digit is 0 to 9 then
    return ((eight + 0x7676767676767676) | eight) & 0x8080808080808080;
  }

  // Of eight characters: the number that the first `count` of them are, 1 to 8 digits.
  static uint64_t number_of(uint64_t eight, size_t count) noexcept {
    eight = (eight ^ 0x3030303030303030) << 8 * (8 - count);  // zeros before the digits
    eight = eight * (1 + (10 << 8)) >> 8;                     // to four numbers of two digits
    eight = (eight & 0x00FF00FF00FF00FF) * (1 + (100 << 16)) >> 16;
    return (eight & 0x0000FFFF0000FFFF) * (1 + (uint64_t{10000} << 32)) >> 32;
  }

  // How many of the lowest bytes are 0.
  static size_t leading_bytes(uint64_t eight) noexcept {
    return eight == 0 ? 8 : static_cast<size_t>(__builtin_ctzll(eight)) / 8;
  }

  // `7,`
  template <class Number>
  bool take_digit(Number& to) noexcept {
    if (text_.size() - at_ < 2 || !is_digit(text_[at_]) || text_[at_ + 1] != ',') return false;
    to = static_cast<Number>(text_[at_] - '0');
    at_ += 2;
    return true;
  }

  // `0.345,`: a digit, a point, at most five digits and a comma.
  template <class Number>
  bool take_short_decimal(Number& to) noexcept {
    uint64_t eight = 0;
    if (!next_eight(eight) || (eight >> 8 & 0xFF) != '.') return false;
    const auto whole = static_cast<uint8_t>(text_[at_] - '0');
    const size_t decimals = leading_bytes(beyond_digits(eight >> 16));
    if (whole > 9 || decimals == 0 || decimals > 5 || text_[at_ + 2 + decimals] != ',') return false;
    const uint64_t digits = kIntegerPowersOfTen[decimals] * whole + number_of(eight >> 16, decimals);
    to = static_cast<Number>(static_cast<double>(digits) / kPowersOfTen[decimals]);
    at_ += decimals + 3;
    return true;
  }

  bool skip_string() noexcept {
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '"') return ++at_, true;
      if (text_[at_] == '\\') ++at_;
      if (at_end()) return false;
    }
    return false;
  }

  // RFC 8259, section 6. std::from_chars also takes a leading zero, a bare point, infinities and NaN.
  template <class Number>
  bool take_number(Number& to) noexcept {
    const size_t begin = at_;
    const bool is_negative = take('-');
    const bool is_zero = peek() == '0';
    uint64_t digits = 0;
    const size_t whole = take_digits(digits);
    if (whole == 0 || (is_zero && whole > 1)) return false;
    size_t decimals = 0;
    if (take('.')) {
      decimals = take_digits(digits);
      if (decimals == 0) return false;
    }
    const bool has_exponent = peek() == 'e' || peek() == 'E';
    if (!has_exponent && whole + decimals <= 19 && digits <= kMaxExact && decimals < std::size(kPowersOfTen)) {
      const double number = static_cast<double>(digits) / kPowersOfTen[decimals];
      to = static_cast<Number>(is_negative ? -number : number);
      return true;
    }
    double number = 0;
    const size_t length = convert(text_.substr(begin), number);
    to = static_cast<Number>(number);
    at_ = begin + length;
    return length != 0;
  }

  // How much of the text is the number; 0 if it is beyond float64, where JavaScript has Infinity or 0.
  static size_t convert(std::string_view text, double& to) noexcept {
#if defined(__cpp_lib_to_chars)
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() ? static_cast<size_t>(stop - text.data()) : 0;
#else  // a C++ library that reads integers only
    static_cast<void>(text), static_cast<void>(to);
    return 0;
#endif
  }

  // A division of two numbers that float64 has exactly is rounded once, so it gives the number nearest to the decimal
  // (W. Clinger, "How to read floating point numbers accurately", 1990).
  static constexpr uint64_t kMaxExact = uint64_t{1} << 53;
  static constexpr uint64_t kIntegerPowersOfTen[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  static constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                            1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  static constexpr bool kIsLittleEndian = true;
#else
  static constexpr bool kIsLittleEndian = false;
#endif

  std::string_view text_;
  size_t at_ = 0;
};

// JSON does not allow control characters in a string.
bool is_valid_name(std::string_view name) noexcept {
  return std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
}

}  // namespace

template <class Number>
NumberArrays find_number_arrays(std::string_view text, const std::vector<std::string>& names, Number* to, size_t room) {
  NumberArrays result;
  Cursor cursor(text);
  size_t used = 0;
  if (!cursor.take_next('{')) return result;
  if (!cursor.take_next('}')) {
    do {
      cursor.skip_space();
      const auto name = cursor.take_plain_string();
      if (!name.has_value() || !cursor.take_next(':')) return result;
      cursor.skip_space();
      const auto wanted = std::find(names.begin(), names.end(), *name);
      const size_t begin = cursor.at();
      if (wanted == names.end() || !is_valid_name(*name)) {
        result.has_others = true;
        if (!cursor.skip_value()) return result;
        continue;
      }
      const auto index = static_cast<size_t>(wanted - names.begin());
      for (const NumberArray& other : result.found) {
        if (other.name == index) return {};  // the last of equal names counts
      }
      if (const auto count = cursor.take_numbers(to + used, room - used)) {
        result.found.push_back({index, begin, cursor.at(), used, *count});
        used += *count;
        continue;
      }
      cursor.go_to(begin);
      result.has_others = true;
      if (!cursor.skip_value()) return {};
    } while (cursor.take_next(','));
    if (!cursor.take('}')) return {};
  }
  cursor.skip_space();
  result.is_read = cursor.at_end();
  return result;
}

template NumberArrays find_number_arrays(std::string_view, const std::vector<std::string>&, float*, size_t);
template NumberArrays find_number_arrays(std::string_view, const std::vector<std::string>&, double*, size_t);

}  // namespace ltn::json
