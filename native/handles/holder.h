// A tensor without elements that represents an object with storages inside, such as a model. The object then lives like
// a tensor, in a slot, with a scope or a guard, and its storages are charged like those inside a sparse tensor.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include <functional>
#include <utility>
#include <vector>

namespace ltn::handles {

// Lifetime: as any TensorImpl; the slot has the only reference, since no op takes such a tensor. Thread: the
// environment's JS thread only.
class Holder : public c10::TensorImpl {
 public:
  Holder()
      : c10::TensorImpl(c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<uint8_t>(),
                        c10::Device(c10::DeviceType::CPU)) {
    set_sizes_contiguous({0});
  }

  // The storages found by the last refresh().
  const std::vector<c10::Storage>& storages() const noexcept { return storages_; }
  // Updates storages(). Does nothing while someone changes the object: their end triggers another refresh. False if it
  // did nothing because `may_read` refused a tensor inside, which is then not touched.
  using MayRead = std::function<bool(const at::Tensor&)>;
  virtual bool refresh(const MayRead& may_read) = 0;

  // Null for any other tensor.
  static Holder* of(const at::Tensor& tensor) noexcept { return dynamic_cast<Holder*>(tensor.unsafeGetTensorImpl()); }

 protected:
  void put(std::vector<c10::Storage> storages) { storages_ = std::move(storages); }

 private:
  std::vector<c10::Storage> storages_;
};

}  // namespace ltn::handles
