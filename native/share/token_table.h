// Tensors passed between threads: offered by `t.share()`, taken by `torch.fromShared(token)`.
//
// A token carries a small SharedArrayBuffer. V8 counts the references to its backing store over all threads and
// messages in flight; the table holds a weak one. After it has expired no one can take the tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

#include "native/audit/tokens.h"

namespace ltn::share {

// Random, never 0, exact in a JS number.
using TokenId = uint64_t;

// The tensor of a token: an alias that no one changes, and whether it was a leaf that requires gradients.
struct Offer {
  at::Tensor tensor;
  bool requires_grad = false;
};

struct TableTotals {
  uint64_t tokens = 0;  // that can still be taken
  uint64_t bytes = 0;   // of their storages, counted once per token
};

// Lifetime: one per process (process_tokens()), never destroyed. Thread: any. While the lock is held, no tensor is
// freed and libtorch's allocator is not called, so that sweeps may run inside an allocation.
class TokenTable {
 public:
  // `store` is the token's memory. Without one (V8 cannot be asked) the token lives until it is taken once, revoked, or
  // until its environment ends.
  // `site` and `record` are those of the call and of the tensor in a recording (audit/tokens.h), else 0.
  TokenId add(Offer offer, const std::shared_ptr<const void>& store, uint32_t environment, uint32_t site = 0,
              uint32_t record = 0);

  // The offer of a token, if `store` is the memory it was created with. Repeatable while the token lives; only once for
  // a token without a store.
  std::optional<Offer> take(TokenId id, const std::shared_ptr<const void>& store);

  // Makes the token invalid. False if there is none.
  bool revoke(TokenId id) noexcept;

  // Frees the tensors of expired tokens.
  void sweep_expired() noexcept;

  // The environment ends: frees its tokens that have no store, and what has expired.
  void end_environment(uint32_t environment) noexcept;

  // Whether enough was added since the last sweep for another sweep to be worthwhile.
  bool sweep_is_due() const noexcept { return bytes_since_sweep_.load(std::memory_order_relaxed) > kSweepBytes; }

  TableTotals totals() noexcept;

 private:
  struct Entry {
    Offer offer;
    uint64_t bytes;
    std::weak_ptr<const void> store;
    bool has_store;
    uint32_t environment;
    audit::Tokens counted;  // by the recorder, until it is taken
  };
  using Entries = std::map<TokenId, Entry>;  // nodes move between maps without an allocation

  static constexpr uint64_t kSweepBytes = 32 * 1024 * 1024;
  static constexpr uint64_t kTokenBytes = 1024;  // approximate size of a token's C++ objects

  template <class Dead>
  void remove_if(Dead dead) noexcept;
  void move_out(Entries::iterator entry, Entries& to) noexcept;

  std::mutex mutex_;
  Entries entries_;                             // guarded by mutex_
  uint64_t bytes_ = 0;                          // guarded by mutex_
  std::mt19937_64 random_{make_seed()};         // guarded by mutex_
  std::atomic<uint64_t> count_{0};              // size of entries_, read without the lock
  std::atomic<uint64_t> bytes_since_sweep_{0};  // added since the last sweep
  static uint64_t make_seed();
};

TokenTable& process_tokens();

// Frees the tensors of expired tokens. Any thread; also called under memory pressure.
inline void sweep_expired() noexcept { process_tokens().sweep_expired(); }

}  // namespace ltn::share
