// Tensors that steps under way work on (native/async): a pool thread reads and replaces what is inside them, so until
// the JS thread hears of the end of the batch it looks at none of them on its own account.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ltn::handles {

// What may be said of a tensor without a look at it.
struct TensorFacts {
  c10::Device device{c10::DeviceType::CPU};
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  c10::SmallVector<int64_t, 5> sizes;
  bool has_sizes = false;  // a nested tensor has none
};

// Reads them. Of a tensor that no step has.
TensorFacts look_at(const at::Tensor& tensor);

// What a batch may write to beside its own arguments.
enum class Reach : uint8_t {
  Arguments,   // nothing
  Gradients,   // a backward: gradients, of which a sparse one gets other storages
  Everything,  // a method of a model: all that the model holds
};

// What a batch works on. The keys are only compared, never followed.
struct Borrowed {
  std::vector<at::Tensor> named;    // arguments; whoever returns them knows their handles
  std::vector<at::Tensor> unnamed;  // results of earlier steps, whose handles are not known
  Reach reach = Reach::Arguments;
};

// By TensorImpl, since several handles may name one.
// Lifetime: part of its slot table. Thread: the environment's JS thread only.
class Loans {
 public:
  // A batch is under way until end(). When it throws, nothing was changed.
  void begin(uint64_t borrower, const Borrowed& borrowed);
  // Nothing happens for a borrower that has none. Allocates nothing.
  void end(uint64_t borrower) noexcept;

  bool any() const noexcept { return under_way_ != 0; }
  // Whether a step under way was given the tensor, or may come upon it by itself: a tensor that nobody but its slot
  // holds cannot be come upon.
  bool has(const at::Tensor& tensor) const noexcept { return find(tensor) != nullptr; }
  bool reaches(const at::Tensor& tensor) const noexcept;
  // What is known of a tensor that was given to a step; null for every other, and where nothing is known.
  const TensorFacts* facts(const at::Tensor& tensor) const noexcept;

  // Somebody did not look at the tensor (or, without one, at any) because of a batch under way: it is due at its end.
  void put_off(const at::Tensor& tensor) noexcept;
  void put_off_all() noexcept { all_put_off_ = true; }
  // Whether batches have ended for which somebody waits.
  bool is_due() const noexcept { return due_; }
  // A batch that ended may have changed the tensor, and nobody knows its handles.
  bool is_returned_unnamed(const at::Tensor& tensor) const noexcept;
  // Around a look at all that is due; what cannot be looked at yet is put off again in between. A look that fails is
  // due again, without end_look().
  void begin_look() noexcept;
  void end_look() noexcept;
  void stays_due() noexcept { due_ = true; }

 private:
  using Key = const c10::TensorImpl*;
  struct Loan {
    uint32_t batches = 0;
    bool is_put_off = false;
    bool unnamed = false;
    bool is_known = true;  // `facts` were looked at
    TensorFacts facts;
    c10::SmallVector<Key, 3> inside;  // the tensors inside a sparse one, which handles may name as well
  };
  struct Batch {
    std::vector<Key> keys;
    Reach reach;
  };

  const Loan* find(const at::Tensor& tensor) const noexcept;
  Loan* lend(Key key, std::vector<Key>* keys);
  void lend_tensor(const at::Tensor& tensor, bool is_named, std::vector<Key>* keys);
  void give_back(const std::vector<Key>& keys) noexcept;

  std::unordered_map<Key, Loan> loans_;  // with `batches` 0: returned, and due because it is unnamed
  std::unordered_map<uint64_t, Batch> batches_;
  uint32_t under_way_ = 0;
  uint32_t writing_gradients_ = 0, writing_everything_ = 0;  // of those under way
  bool reached_put_off_ = false, all_put_off_ = false, due_ = false;
  uint32_t returned_unnamed_ = 0;
};

}  // namespace ltn::handles
