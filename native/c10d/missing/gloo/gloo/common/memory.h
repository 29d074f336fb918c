// Debian's packages of Gloo lack this header of Gloo, which those of its TCP connections include. It declares what they
// name, in the same layout. scripts/libtorch.mjs adds this folder where the header is missing.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr;
template <typename T>
class ShareableNonOwningPtr;

// Refers to a buffer that its owner may free.
template <typename T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& owner) : ptr_(owner.ptr_) {}

  // Whether it was ever made to refer to a buffer, which may be freed now.
  explicit operator bool() const noexcept {
    const std::weak_ptr<T> none;
    return ptr_.owner_before(none) || none.owner_before(ptr_);
  }

 protected:
  std::weak_ptr<T> ptr_;
  friend class NonOwningPtr<T>;
};

// Keeps a buffer for a moment, in which its owner waits; null if the owner has freed it.
template <typename T>
class NonOwningPtr final {
 public:
  NonOwningPtr() = default;
  explicit NonOwningPtr(const WeakNonOwningPtr<T>& reference) : ptr_(reference.ptr_.lock()) {}

  T* operator->() const noexcept { return ptr_.get(); }
  explicit operator bool() const noexcept { return ptr_ != nullptr; }

 private:
  std::shared_ptr<T> ptr_;
};

// The owner's reference. Gloo makes and destroys it.
template <typename T>
class ShareableNonOwningPtr final {
 public:
  explicit ShareableNonOwningPtr(T* owned);
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ShareableNonOwningPtr& operator=(const ShareableNonOwningPtr&) = delete;
  ~ShareableNonOwningPtr();

 protected:
  std::shared_ptr<T> ptr_;
  friend class WeakNonOwningPtr<T>;
};

}  // namespace gloo
