// Unpredictable names.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_RANDOM_NAME_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_RANDOM_NAME_H_

#include <sys/random.h>

#include <array>
#include <string>

namespace ltn::audit {

// 128 random bits from the kernel, as 32 hexadecimal digits. False, with errno, if the kernel has none yet; does not
// block.
inline bool random_name(std::string* name) {
  std::array<unsigned char, 16> bytes{};
#if defined(__APPLE__)
  if (::getentropy(bytes.data(), bytes.size()) != 0) return false;  // macOS seeds it before any program runs
#else
  if (::getrandom(bytes.data(), bytes.size(), GRND_NONBLOCK) != static_cast<ssize_t>(bytes.size())) return false;
#endif
  static constexpr char kDigits[] = "0123456789abcdef";
  name->clear();
  for (const unsigned char byte : bytes) {
    *name += kDigits[byte >> 4];
    *name += kDigits[byte & 15];
  }
  return true;
}

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_RANDOM_NAME_H_
