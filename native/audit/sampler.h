// Poisson sampling of new storages by bytes, as in heap profilers.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_SAMPLER_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_SAMPLER_H_

#include <cmath>
#include <cstdint>

namespace ltn::audit {

// One per thread, never shared. A storage of s bytes (kHandleBytes included) is drawn with probability
// p = 1 - exp(-s / distance), independent of earlier ones (the exponential distribution has no memory), and counts 1/p
// times, so sums over samples are unbiased estimates of sums over all. Storages at least as large as the distance are
// always drawn and count once.
class Sampler {
 public:
  // Even an empty tensor costs a handle; without it, leaks of tiny tensors would never be drawn.
  static constexpr uint64_t kHandleBytes = 64;

  explicit Sampler(uint64_t seed) : state_(seed | 1) {}

  // True if drawn; `weight` is the number of storages it represents.
  bool draw(uint64_t bytes, uint64_t distance, float* weight) noexcept {
    const uint64_t size = bytes + kHandleBytes;
    if (size >= distance) {
      *weight = 1;
      return true;
    }
    if (distance_ != distance) {
      distance_ = distance;
      left_ = next_distance();
    }
    left_ -= static_cast<double>(size);
    if (left_ > 0) return false;
    left_ = next_distance();
    *weight = static_cast<float>(1.0 / -std::expm1(-static_cast<double>(size) / static_cast<double>(distance)));
    return true;
  }

 private:
  double next_distance() noexcept {
    state_ ^= state_ << 13;  // xorshift64: good enough here, and without a lock
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    const double uniform = (static_cast<double>(state_ >> 11) + 0.5) * 0x1.0p-53;
    return -std::log(uniform) * static_cast<double>(distance_);
  }

  uint64_t state_;
  uint64_t distance_ = 0;
  double left_ = 0;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_SAMPLER_H_
