// The pending results among the arguments of a recorded op, and their positions.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace ltn::async {

class Step;
class Strand;

// Lifetime: part of its Step. Thread: as Step.
class Recording {
 public:
  explicit Recording(Strand& strand) : strand_(strand) {}

  // The cell of the result with that code (strand.h); null if it is not from this strand. `is_there`: it can be read
  // now.
  const at::Tensor* find(double code, bool* is_there);

  // Once the previous steps have run, `to` becomes the tensor that is then in `from`.
  void put_later(c10::IValue* to, const at::Tensor& from) { values_.emplace_back(to, &from); }
  void put_later(const c10::List<at::Tensor>& list, size_t position, const at::Tensor& from) {
    tensors_.push_back({list, position, &from});
  }
  void put_later(const c10::List<c10::optional<at::Tensor>>& list, size_t position, const at::Tensor& from) {
    optionals_.push_back({list, position, &from});
  }
  void put_now();

  // The steps whose results are among the arguments, once per use.
  const std::vector<Step*>& uses() const noexcept { return uses_; }
  void use(Step* step) { uses_.push_back(step); }

  template <class T>
  struct Element {
    c10::List<T> list;
    size_t position;
    const at::Tensor* from;
  };
  // What put_later() recorded.
  const std::vector<std::pair<c10::IValue*, const at::Tensor*>>& values() const noexcept { return values_; }
  const std::vector<Element<at::Tensor>>& tensors() const noexcept { return tensors_; }
  const std::vector<Element<c10::optional<at::Tensor>>>& optionals() const noexcept { return optionals_; }

 private:
  Strand& strand_;
  std::vector<Step*> uses_;
  std::vector<std::pair<c10::IValue*, const at::Tensor*>> values_;
  std::vector<Element<at::Tensor>> tensors_;
  std::vector<Element<c10::optional<at::Tensor>>> optionals_;
};

}  // namespace ltn::async
