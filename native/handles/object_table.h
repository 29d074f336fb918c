// The owner of C++ objects, other than tensors, that JavaScript refers to by number.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ltn {

// Lifetime: part of its environment; its destructor frees all objects. Thread: the environment's JS thread only.
// Handles carry a generation, so a stale one finds nothing. They have at most 53 bits, so a JS number holds them
// exactly. A slot whose generations are used up is never reused, as for tensors. 0 is never a handle.
template <class T>
class ObjectTable {
 public:
  uint64_t create(T object) {
    size_t index = 0;
    if (free_.empty()) {
      index = slots_.size();
      slots_.emplace_back();
      free_.reserve(slots_.capacity());  // so that freeing never allocates
    } else {
      index = free_.back();
      free_.pop_back();
    }
    slots_[index].object.emplace(std::move(object));
    return slots_[index].generation << kIndexBits | index;
  }

  T* find(uint64_t handle) noexcept {
    const uint64_t index = handle & kIndexMask;
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.object.has_value() && slot.generation == handle >> kIndexBits ? &*slot.object : nullptr;
  }

  bool free(uint64_t handle) noexcept {
    if (find(handle) == nullptr) return false;
    Slot& slot = slots_[handle & kIndexMask];
    slot.object.reset();
    if (slot.generation == kLastGeneration) return true;
    ++slot.generation;
    free_.push_back(handle & kIndexMask);
    return true;
  }

 private:
  friend struct ObjectTablePeek;  // of the tests

  static constexpr int kIndexBits = 26;
  static constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
  static constexpr uint64_t kLastGeneration = (uint64_t{1} << (53 - kIndexBits)) - 1;
  struct Slot {
    std::optional<T> object;
    uint64_t generation = 1;
  };
  std::vector<Slot> slots_;
  std::vector<size_t> free_;
};

}  // namespace ltn
