#include "native/v8/flags.h"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstring>

#include "native/v8/symbols.h"

namespace ltn {
namespace {

// v8::internal::v8_flags: a structure of one page, of whose members most are bools.
constexpr size_t kBytes = 4'096;
using Flags = std::array<uint8_t, kBytes>;
using SetFlags = void (*)(const char*);

// Other threads may set flags meanwhile. Then several bytes have changed as this flag's did.
constexpr int kTries = 10;

Flags copy_of(const uint8_t* flags) noexcept {
  Flags copy{};
  std::memcpy(copy.data(), flags, kBytes);
  return copy;
}

size_t first_of(const std::bitset<kBytes>& set) noexcept {
  size_t at = 0;
  while (at < kBytes && !set[at]) ++at;
  return at;
}

}  // namespace

V8Flag::V8Flag(const char* on, const char* off) noexcept {
  uint8_t* flags = nullptr;
  SetFlags set = nullptr;
  find_in_v8(&flags, "_ZN2v88internal8v8_flagsE");
  find_in_v8(&set, "_ZN2v82V818SetFlagsFromStringEPKc");
  if (flags == nullptr || set == nullptr || reinterpret_cast<uintptr_t>(flags) % kBytes != 0) return;
  static_assert(sizeof(std::atomic<uint8_t>) == 1);
  const Flags before = copy_of(flags);
  std::bitset<kBytes> candidates;
  candidates.set();
  for (int tried = 0; tried < kTries && candidates.count() > 1; ++tried) {
    set(on);
    const Flags with = copy_of(flags);
    set(off);
    const Flags without = copy_of(flags);
    for (size_t i = 0; i < kBytes; ++i) candidates[i] = candidates[i] && with[i] == 1 && without[i] == 0;
  }
  if (candidates.count() == 1) value_ = reinterpret_cast<std::atomic<uint8_t>*>(flags + first_of(candidates));
  bool was_on = candidates.any();
  for (size_t i = 0; i < kBytes; ++i) was_on = was_on && (!candidates[i] || before[i] == 1);
  if (was_on) set(on);
}

V8Flags::V8Flags() noexcept {
  // V8 computes the hash when it is needed. Now no thread has changed a flag through this object.
  unsigned (*hash)() = nullptr;
  find_in_v8(&hash, "_ZN2v814ScriptCompiler20CachedDataVersionTagEv");
  if (hash != nullptr) static_cast<void>(hash());
}

V8Flags& V8Flags::found() noexcept {
  static V8Flags flags;  // one in the process, as V8's are
  return flags;
}

}  // namespace ltn
