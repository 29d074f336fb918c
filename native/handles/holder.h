// A tensor without elements that stands for an object with storages inside, such as a model: the object then lives as
// tensors do, in a slot, with a scope or a guard, and its storages are charged as those inside a sparse tensor are.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include <functional>
#include <utility>
#include <vector>

namespace ltn::handles {

// Lifetime: as any TensorImpl; the slot has the only reference, since no op takes such a tensor.
// Thread: the environment's JS thread only.
class Holder : public c10::TensorImpl {
 public:
  Holder()
      : c10::TensorImpl(c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<uint8_t>(),
                        c10::Device(c10::DeviceType::CPU)) {
    set_sizes_contiguous({0});
  }

  // What is inside, as it was when refresh() looked last.
  const std::vector<c10::Storage>& storages() const noexcept { return storages_; }
  // Looks again. Does nothing while somebody changes the object: that one's end is another time to look. False when it
  // did nothing because `may_look` refused a tensor inside, which is then not touched.
  using MayLook = std::function<bool(const at::Tensor&)>;
  virtual bool refresh(const MayLook& may_look) = 0;

  // Null for every other tensor.
  static Holder* of(const at::Tensor& tensor) noexcept { return dynamic_cast<Holder*>(tensor.unsafeGetTensorImpl()); }

 protected:
  void put(std::vector<c10::Storage> storages) { storages_ = std::move(storages); }

 private:
  std::vector<c10::Storage> storages_;
};

}  // namespace ltn::handles
