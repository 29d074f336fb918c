// Differences between the supported libtorch versions in C++ that no template or type table absorbs. This is the only
// hand-written file that may check the libtorch version it is compiled with (test/architecture enforces that).
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <cstring>
#include <string>

// Named dimensions were removed from libtorch in the course of 2.x, with every schema that has a Dimname.
#if __has_include(<ATen/core/Dimname.h>)
#define LTN_HAS_DIMNAMES
#endif

// Packages of AOTInductor, from 2.6 on: earlier versions have the runner of a model, but cannot find it by device.
#if __has_include(<torch/csrc/inductor/aoti_package/model_package_loader.h>)
#define LTN_HAS_PACKAGES
#endif

// A layer of an LSTM in oneDNN, from 2.x on.
#if __has_include(<ATen/ops/mkldnn_rnn_layer_native.h>)
#define LTN_HAS_MKLDNN_RNN
#endif

// Hooks that run after a gradient was accumulated, from 2.1 on.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
#define LTN_HAS_POST_ACCUMULATE_HOOKS
#endif

// Autocast has one set of functions for all devices from 2.4 on. Earlier versions have functions for each device.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
#define LTN_HAS_AUTOCAST_BY_DEVICE
#endif

namespace ltn::compat {

// From 2.x on, the function `copy` uses the storage of self without a check; sparse and oneDNN tensors have none.
inline constexpr bool kCopyTakesStorage = TORCH_VERSION_MAJOR >= 2;

// From 2.x on, a batch norm in training checks that its batch has elements, and otherwise returns an empty result.
inline constexpr bool kBatchNormChecksEmptyBatch = TORCH_VERSION_MAJOR >= 2;

// These are fixed in some release after 2.6, and in 2.14: Chebyshev and Hermite polynomials of a high degree have a
// formula, and nanmean of a result takes zeros without memory.
inline constexpr bool kPolynomialsUseFormula = TORCH_VERSION_MAJOR > 2 ||
                                               (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 14);
inline constexpr bool kNanmeanTakesZeros = kPolynomialsUseFormula;

// mkldnn_convolution takes one number for all dimensions, and looks how many there are, from 2.x on.
inline constexpr bool kMkldnnConvolutionExpands = TORCH_VERSION_MAJOR >= 2;

// topk accepts a quantized tensor without dimensions from 2.x on.
inline constexpr bool kQuantizedTopkAcceptsScalar = TORCH_VERSION_MAJOR >= 2;

// floor_divide, remainder and fmod of the lowest integer by -1 have a result from some release after 2.6 on; 2.14 has.
inline constexpr bool kRemainderOverflows =
    TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 14);

// The kernel of a CTC loss checks its lengths from some release after 1.13 on; 2.6 does.
inline constexpr bool kChecksLengths = TORCH_VERSION_MAJOR > 2 ||
                                       (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6);

// The kernel of baddbmm multiplies memory without values by a beta of 0 up to some release before 2.6, which does not.
inline constexpr bool kMultipliesByZeroBeta =
    TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 6);

// An allocator whose class `Own` has `c10::DataPtr take(size_t bytes) const`.
//
// libtorch 1.13 declares allocate() const, 2.x does not; copy_data() exists from 2.x on. So nothing here says
// `override`: what the present libtorch does not declare is an unused function.
template <class Own>
class Allocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const { return own().take(bytes); }
  c10::DataPtr allocate(size_t bytes) { return own().take(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  const Own& own() const { return static_cast<const Own&>(*this); }
};

// A handler of libtorch's warnings. libtorch 2 passes an object, and moved the functions.
class WarningHandler : public c10::WarningHandler {
 public:
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning& warning) final { warned(warning.msg()); }
#else
  void process(const c10::SourceLocation&, const std::string& text, bool) final { warned(text); }
#endif

 protected:
  virtual void warned(const std::string& text) = 0;
};

#if TORCH_VERSION_MAJOR >= 2
inline c10::WarningHandler* warning_handler() noexcept { return c10::WarningUtils::get_warning_handler(); }
inline void set_warning_handler(c10::WarningHandler* handler) noexcept {
  c10::WarningUtils::set_warning_handler(handler);
}
#else
inline c10::WarningHandler* warning_handler() noexcept { return c10::Warning::get_warning_handler(); }
inline void set_warning_handler(c10::WarningHandler* handler) noexcept { c10::Warning::set_warning_handler(handler); }
#endif

// Suppresses this thread's warnings. Lifetime: a frame of the thread.
class SilentWarnings final : public WarningHandler {
 public:
  SilentWarnings() : before_(warning_handler()) { set_warning_handler(this); }
  ~SilentWarnings() { set_warning_handler(before_); }
  SilentWarnings(const SilentWarnings&) = delete;
  SilentWarnings& operator=(const SilentWarnings&) = delete;

 private:
  void warned(const std::string&) override {}
  c10::WarningHandler* const before_;
};

}  // namespace ltn::compat
