// Tensors in use by running steps (native/async): a pool thread reads and replaces what is inside them, so the JS
// thread does not examine them until it is notified that the batch ended.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ltn::handles {

// The properties of a tensor that are kept while it is in use.
struct TensorFacts {
  c10::Device device{c10::DeviceType::CPU};
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  c10::SmallVector<int64_t, 5> sizes;
  bool has_sizes = false;  // a nested tensor has none
};

// Reads the properties of a tensor that no step uses.
TensorFacts read_facts(const at::Tensor& tensor);

// What a batch may write to besides its own arguments.
enum class Reach : uint8_t {
  Arguments,   // nothing
  Gradients,   // a backward: gradients; a sparse one gets new storages
  Everything,  // a method of a model: everything the model holds
};

// The tensors a batch works on. The keys are only compared, never followed.
struct Borrowed {
  std::vector<at::Tensor> named;    // arguments; their handles are known on return
  std::vector<at::Tensor> unnamed;  // results of earlier steps; their handles are not known
  Reach reach = Reach::Arguments;
};

// Keyed by TensorImpl, since several handles may refer to one. Lifetime: part of its slot table. Thread: the
// environment's JS thread only.
class Loans {
 public:
  Loans() = default;
  ~Loans();
  Loans(const Loans&) = delete;
  Loans& operator=(const Loans&) = delete;

  // Whether a batch of any environment may write to gradients now. Thread: any.
  static bool writes_gradients() noexcept { return writers_.load(std::memory_order_relaxed) != 0; }

  // A batch starts; it runs until end(). If it throws, nothing has changed.
  void begin(uint64_t borrower, const Borrowed& borrowed);
  // Does nothing for a borrower without a batch. Does not allocate.
  void end(uint64_t borrower) noexcept;

  bool any() const noexcept { return under_way_ != 0; }
  // Whether a running step was given the tensor (has), or may reach it otherwise (reaches). A tensor held only by its
  // slot cannot be reached.
  bool has(const at::Tensor& tensor) const noexcept { return find(tensor) != nullptr; }
  bool reaches(const at::Tensor& tensor) const noexcept;
  // The properties of a tensor that was given to a step; null for any other, and if they are unknown.
  const TensorFacts* facts(const at::Tensor& tensor) const noexcept;

  // Records that a tensor (or all) could not be examined because of a running batch: it is due at the batch's end.
  void defer(const at::Tensor& tensor) noexcept;
  void defer_all() noexcept { all_deferred_ = true; }
  // Whether a batch has ended for which a deferred tensor waits.
  bool is_due() const noexcept { return due_; }
  // An ended batch may have changed the tensor, and its handles are not known.
  bool is_returned_unnamed(const at::Tensor& tensor) const noexcept;
  // Bracket a pass over everything that is due; what is still in use is deferred again in between. A failed pass,
  // without end_pass(), is due again.
  void begin_pass() noexcept;
  void end_pass() noexcept;
  void keep_due() noexcept { due_ = true; }

 private:
  using Key = const c10::TensorImpl*;
  struct Loan {
    uint32_t batches = 0;
    bool is_deferred = false;
    bool unnamed = false;
    bool is_known = true;  // `facts` are valid
    TensorFacts facts;
    c10::SmallVector<Key, 3> inside;  // the tensors inside a sparse one, which handles may refer to
  };
  struct Batch {
    std::vector<Key> keys;
    Reach reach;
  };

  const Loan* find(const at::Tensor& tensor) const noexcept;
  Loan* lend(Key key, std::vector<Key>* keys);
  void lend_tensor(const at::Tensor& tensor, bool is_named, std::vector<Key>* keys);
  void give_back(const std::vector<Key>& keys) noexcept;

  static std::atomic<uint32_t> writers_;  // batches that write to gradients, of all environments

  std::unordered_map<Key, Loan> loans_;  // `batches` 0: returned, and due because it is unnamed
  std::unordered_map<uint64_t, Batch> batches_;
  uint32_t under_way_ = 0;
  uint32_t writing_gradients_ = 0, writing_everything_ = 0;  // counts of running batches
  bool reached_deferred_ = false, all_deferred_ = false, due_ = false;
  uint32_t returned_unnamed_ = 0;
};

}  // namespace ltn::handles
