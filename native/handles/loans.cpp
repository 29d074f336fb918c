#include "native/handles/loans.h"

#include <iterator>
#include <utility>

#include "native/handles/inner_tensors.h"

namespace ltn::handles {

TensorFacts read_facts(const at::Tensor& tensor) {
  TensorFacts facts;
  facts.device = tensor.device();
  facts.dtype = tensor.scalar_type();
  facts.has_sizes = !tensor.is_nested();  // sizes() throws for a nested tensor
  if (facts.has_sizes) facts.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  return facts;
}

const Loans::Loan* Loans::find(const at::Tensor& tensor) const noexcept {
  const auto found = loans_.find(tensor.unsafeGetTensorImpl());
  return found == loans_.end() || found->second.batches == 0 ? nullptr : &found->second;
}

bool Loans::reaches(const at::Tensor& tensor) const noexcept {
  if (writing_gradients_ + writing_everything_ == 0 || tensor.use_count() == 1) return false;
  return writing_everything_ != 0 || !tensor.unsafeGetTensorImpl()->has_storage();
}

const TensorFacts* Loans::facts(const at::Tensor& tensor) const noexcept {
  const Loan* loan = find(tensor);
  return loan == nullptr || !loan->is_known ? nullptr : &loan->facts;
}

Loans::Loan* Loans::lend(Key key, std::vector<Key>* keys) {
  keys->push_back(key);
  try {
    Loan& loan = loans_[key];
    if (loan.batches++ == 0 && loan.unnamed) --returned_unnamed_;  // becomes due at the end of this batch
    return &loan;
  } catch (...) {  // out of memory
    keys->pop_back();
    throw;
  }
}

void Loans::lend_tensor(const at::Tensor& tensor, bool is_named, std::vector<Key>* keys) {
  if (!tensor.defined()) return;
  Loan* loan = lend(tensor.unsafeGetTensorImpl(), keys);
  if (!is_named) loan->unnamed = true;
  if (loan->batches > 1) {  // a step may be changing it: use what was seen before
    const auto inside = loan->inside;
    for (const Key key : inside) lend(key, keys);
    return;
  }
  loan->inside.clear();
  loan->is_known = !reaches(tensor);
  if (!loan->is_known) {  // a running batch may be changing it: due afterwards
    loan->unnamed = true;
    return;
  }
  loan->facts = read_facts(tensor);
  for_each_inner(tensor, [&](const at::Tensor& part) {
    if (part.defined()) loan->inside.push_back(part.unsafeGetTensorImpl());
  });
  for_each_inner(tensor, [&](const at::Tensor& part) {
    if (!part.defined()) return;
    Loan* inner = lend(part.unsafeGetTensorImpl(), keys);
    if (inner->batches == 1) {
      inner->is_known = true;
      inner->facts = read_facts(part);
    }
    if (part.use_count() > 2) inner->unnamed = true;  // a handle may refer to it: s._values()
  });
}

std::atomic<uint32_t> Loans::writers_{0};

Loans::~Loans() { writers_.fetch_sub(writing_gradients_ + writing_everything_, std::memory_order_relaxed); }

void Loans::begin(uint64_t borrower, const Borrowed& borrowed) {
  TORCH_CHECK(batches_.count(borrower) == 0, "a batch of this strand is already running");
  std::vector<Key> keys;
  try {
    keys.reserve(borrowed.named.size() + borrowed.unnamed.size());
    for (const at::Tensor& tensor : borrowed.named) lend_tensor(tensor, true, &keys);
    for (const at::Tensor& tensor : borrowed.unnamed) lend_tensor(tensor, false, &keys);
    batches_.emplace(borrower, Batch{keys, borrowed.reach});
  } catch (...) {  // out of memory: nothing was started
    give_back(keys);
    throw;
  }
  ++under_way_;
  writing_gradients_ += borrowed.reach == Reach::Gradients;
  writing_everything_ += borrowed.reach == Reach::Everything;
  if (borrowed.reach != Reach::Arguments) writers_.fetch_add(1, std::memory_order_relaxed);
}

void Loans::give_back(const std::vector<Key>& keys) noexcept {
  for (const Key key : keys) {
    const auto found = loans_.find(key);
    Loan& loan = found->second;
    if (--loan.batches != 0) continue;
    due_ |= loan.is_deferred || loan.unnamed;
    if (loan.unnamed) {
      ++returned_unnamed_;
    } else {
      loans_.erase(found);
    }
  }
}

void Loans::end(uint64_t borrower) noexcept {
  const auto found = batches_.find(borrower);
  if (found == batches_.end()) return;
  --under_way_;
  writing_gradients_ -= found->second.reach == Reach::Gradients;
  writing_everything_ -= found->second.reach == Reach::Everything;
  if (found->second.reach != Reach::Arguments) writers_.fetch_sub(1, std::memory_order_relaxed);
  give_back(found->second.keys);
  batches_.erase(found);
  due_ |= all_deferred_ || (reached_deferred_ && writing_gradients_ + writing_everything_ == 0);
}

void Loans::defer(const at::Tensor& tensor) noexcept {
  const auto found = loans_.find(tensor.unsafeGetTensorImpl());
  if (found != loans_.end() && found->second.batches != 0) found->second.is_deferred = true;
  if (reaches(tensor)) reached_deferred_ = true;
}

bool Loans::is_returned_unnamed(const at::Tensor& tensor) const noexcept {
  if (returned_unnamed_ == 0) return false;
  const auto found = loans_.find(tensor.unsafeGetTensorImpl());
  return found != loans_.end() && found->second.batches == 0;
}

void Loans::begin_pass() noexcept {
  due_ = all_deferred_ = false;
  if (writing_gradients_ + writing_everything_ == 0) reached_deferred_ = false;
}

void Loans::end_pass() noexcept {
  if (returned_unnamed_ == 0) return;
  for (auto at = loans_.begin(); at != loans_.end();) at = at->second.batches == 0 ? loans_.erase(at) : std::next(at);
  returned_unnamed_ = 0;
}

}  // namespace ltn::handles
