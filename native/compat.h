// Where libtorch's C++ differs between the versions that are supported, and no template or type table absorbs it. This
// is the only hand-written file that may ask which libtorch it is compiled with (test/architecture enforces that).
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <cstring>
#include <string>

// Named dimensions left libtorch in the course of 2.x, and every schema with a Dimname with them.
#if __has_include(<ATen/core/Dimname.h>)
#define LTN_HAS_DIMNAMES
#endif

// Packages of AOTInductor, from 2.6 on: earlier ones have the runner of a model, but nothing that finds it by device.
#if __has_include(<torch/csrc/inductor/aoti_package/model_package_loader.h>)
#define LTN_HAS_PACKAGES
#endif

// Hooks that run when a gradient was accumulated, from 2.1 on.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
#define LTN_HAS_POST_ACCUMULATE_HOOKS
#endif

namespace ltn::compat {

// An allocator whose class `Own` has `c10::DataPtr take(size_t bytes) const`.
//
// libtorch 1.13 declares allocate() const, 2.x does not; copy_data() is of 2.x. So none here says `override`: what the
// libtorch at hand does not declare is an unused function.
template <class Own>
class Allocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const { return own().take(bytes); }
  c10::DataPtr allocate(size_t bytes) { return own().take(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  const Own& own() const { return static_cast<const Own&>(*this); }
};

// A handler of libtorch's warnings. libtorch 2 hands over an object, and gave the functions another home.
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

}  // namespace ltn::compat
