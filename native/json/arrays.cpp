#include "native/json/arrays.h"

#include <algorithm>
#include <charconv>
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
  std::optional<size_t> take_numbers(double* to, size_t room) noexcept {
    if (!take('[')) return std::nullopt;
    if (take_next(']')) return 0;
    for (size_t count = 0;;) {
      if (count == room) return std::nullopt;
      if (take_digit(to[count])) {
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

  bool take_digits() noexcept {
    const size_t begin = at_;
    while (is_digit(peek())) ++at_;
    return at_ > begin;
  }

  // `7,`: most numbers of sparse data.
  bool take_digit(double& to) noexcept {
    if (text_.size() - at_ < 2 || !is_digit(text_[at_]) || text_[at_ + 1] != ',') return false;
    to = text_[at_] - '0';
    at_ += 2;
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
  bool take_number(double& to) noexcept {
    const size_t begin = at_;
    take('-');
    const bool is_zero = peek() == '0';
    const size_t whole = at_;
    if (!take_digits() || (is_zero && at_ - whole > 1)) return false;
    if (take('.') && !is_digit(peek())) return false;
    const size_t length = convert(text_.substr(begin), to);
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

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

NumberArrays find_number_arrays(std::string_view text, const std::vector<std::string>& names, double* to, size_t room) {
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
      if (wanted == names.end()) {
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
      if (!cursor.skip_value()) return {};
    } while (cursor.take_next(','));
    if (!cursor.take('}')) return {};
  }
  cursor.skip_space();
  result.is_read = cursor.at_end();
  return result;
}

}  // namespace ltn::json
