// Names that nobody can know before they are used.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_RANDOM_NAME_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_RANDOM_NAME_H_

#include <sys/random.h>

#include <array>
#include <string>

namespace ltn::audit {

// 128 bits of the kernel's, as 32 hexadecimal digits. False, with errno, where it gives none; it is not waited for.
inline bool random_name(std::string* name) {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), GRND_NONBLOCK) != static_cast<ssize_t>(bytes.size())) return false;
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
