#include "native/v8/flags.h"

#include <array>
#include <cstring>

#include "native/v8/symbols.h"

namespace ltn {
namespace {

// v8::internal::v8_flags: a structure of one page, of whose members most are bools.
constexpr size_t kBytes = 4'096;
using Flags = std::array<uint8_t, kBytes>;

}  // namespace

V8Flag::V8Flag(const char* on, const char* off) noexcept {
  uint8_t* flags = nullptr;
  void (*set)(const char*) = nullptr;
  find_in_v8(&flags, "_ZN2v88internal8v8_flagsE");
  find_in_v8(&set, "_ZN2v82V818SetFlagsFromStringEPKc");
  if (flags == nullptr || set == nullptr || reinterpret_cast<uintptr_t>(flags) % kBytes != 0) return;
  static_assert(sizeof(std::atomic<uint8_t>) == 1);
  Flags before, with, without;
  std::memcpy(before.data(), flags, kBytes);
  set(on);
  std::memcpy(with.data(), flags, kBytes);
  set(off);
  std::memcpy(without.data(), flags, kBytes);
  size_t differing = 0, at = 0;
  for (size_t i = 0; i < kBytes; ++i) {
    if (with[i] == without[i]) continue;
    ++differing;
    at = i;
  }
  // Another thread may have set a flag meanwhile. Then neither is known to be this one.
  if (differing == 1 && with[at] == 1 && without[at] == 0) value_ = reinterpret_cast<std::atomic<uint8_t>*>(flags + at);
  if (with == before) set(on);
}

}  // namespace ltn
