// Tokens of share(): where they were made, and how many no thread has taken yet.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_TOKENS_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_TOKENS_H_

#include <cstddef>
#include <cstdint>

namespace ltn::audit {

// The tokens made at one site of tensors made at one site. Same layout as in the file.
struct TokenRow {
  uint32_t site = 0;
  uint32_t origin = 0;         // of the tensors, 0: unknown
  uint64_t made = 0;           // since the capture began
  uint64_t taken = 0;          // of those, at least once
  uint64_t waiting = 0;        // can still be taken, and never were
  uint64_t waiting_bytes = 0;  // of their storages, counted once per token
};
inline constexpr size_t kTokenBytes = 40;
static_assert(sizeof(TokenRow) == kTokenBytes);

// The row that counts a token, in the capture in which it was made; 0: none.
struct Tokens {
  uint32_t capture = 0, row = 0;
};

// `site`: where it is made, 0 outside a recording. `record`: the tensor's, 0 if it has none. Any thread.
Tokens offered_token(uint32_t site, uint32_t record, uint64_t bytes) noexcept;
// The first time that a token is taken; a token that ends untaken. Any thread, also in an allocation.
void token_taken(const Tokens& tokens, uint64_t bytes) noexcept;
void token_expired(const Tokens& tokens, uint64_t bytes) noexcept;

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_TOKENS_H_
