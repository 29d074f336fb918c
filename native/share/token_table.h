// Tensors on their way between threads: what `t.share()` put up and `torch.fromShared(token)` takes.
//
// A token carries a small SharedArrayBuffer. V8 counts the references to its backing store over all threads and over
// the messages in flight; the table holds a weak one. Once that has expired nobody can come for the tensor any more.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

namespace ltn::share {

// Random, never 0, exact in a JS number.
using TokenId = uint64_t;

// What a token stands for: an alias that nobody changes, and whether it was a leaf that wants gradients.
struct Offer {
  at::Tensor tensor;
  bool requires_grad = false;
};

struct TableTotals {
  uint64_t tokens = 0;  // that may still be taken
  uint64_t bytes = 0;   // of their storages, counted once for each token
};

// Lifetime: one for the process (process_tokens()), never destroyed. Thread: any. No tensor is freed and nothing of
// libtorch's allocator is called while the lock is held, so that sweeps may run inside an allocation.
class TokenTable {
 public:
  // `store` is the token's memory. Without one (its owner cannot be asked) the token lives until it is taken once,
  // revoked, or until its environment ends.
  TokenId add(Offer offer, const std::shared_ptr<const void>& store, uint32_t environment);

  // The offer of a token, if `store` is the very memory it was made with. Again and again while the token lives; only
  // once for a token without a store.
  std::optional<Offer> take(TokenId id, const std::shared_ptr<const void>& store);

  // Nobody can take the token from now on. False when there is none.
  bool revoke(TokenId id) noexcept;

  // Frees the tensors of tokens that nobody has any more.
  void sweep_expired() noexcept;

  // The environment ends: frees its tokens that have no store, and what has expired.
  void end_environment(uint32_t environment) noexcept;

  // Whether so much was added since the last sweep that a look for garbage is worth its time.
  bool sweep_is_due() const noexcept { return fresh_bytes_.load(std::memory_order_relaxed) > kFreshBytes; }

  TableTotals totals() noexcept;

 private:
  struct Entry {
    Offer offer;
    uint64_t bytes;
    std::weak_ptr<const void> store;
    bool has_store;
    uint32_t environment;
  };
  using Entries = std::map<TokenId, Entry>;  // whose nodes move to another map without an allocation

  static constexpr uint64_t kFreshBytes = 32 * 1024 * 1024;
  static constexpr uint64_t kTokenBytes = 1024;  // of the C++ objects behind a token, about

  template <class Dead>
  void remove_if(Dead dead) noexcept;
  void move_out(Entries::iterator entry, Entries& to) noexcept;

  std::mutex mutex_;
  Entries entries_;                       // guarded by mutex_
  uint64_t bytes_ = 0;                    // guarded by mutex_
  std::mt19937_64 random_{make_seed()};   // guarded by mutex_
  std::atomic<uint64_t> count_{0};        // of entries_, for a look without the lock
  std::atomic<uint64_t> fresh_bytes_{0};  // added since the last sweep
  static uint64_t make_seed();
};

TokenTable& process_tokens();

// Frees the tensors of tokens that nobody has any more. Any thread; for memory pressure too.
inline void sweep_expired() noexcept { process_tokens().sweep_expired(); }

}  // namespace ltn::share
