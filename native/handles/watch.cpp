#include "native/handles/watch.h"

#include <chrono>
#include <new>
#include <utility>

namespace ltn::handles {

double Watch::now_ms() noexcept {
  using Ms = std::chrono::duration<double, std::milli>;
  return Ms(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Watch::configure(bool on, uint64_t sample_bytes, bool deaths) {
  on_ = on;
  sample_bytes_ = sample_bytes;
  deaths_ = deaths;
  if (on) return;
  births_ = {};
  waiting_ = {};
  if (!dead_.empty()) return;  // whose sites are still asked for
  sites_ = {};
}

void Watch::born(uint64_t handle, uint32_t index, uint64_t bytes) noexcept {
  try {
    if (index >= births_.size()) births_.resize(static_cast<size_t>(index) + 1 + births_.size() / 2);
    births_[index] = {handle, now_ms(), 0};
    float weight = 0;
    if (sample_bytes_ == 0 || sampler_.draw(bytes, sample_bytes_, &weight)) waiting_.push_back(index);
  } catch (const std::bad_alloc&) {
    // The tensor is there: better of unknown age than lost.
  }
}

void Watch::tag_waiting(uint32_t site) noexcept {
  for (const uint32_t index : waiting_) births_[index].site = site;
  waiting_.clear();
}

const Watch::Birth* Watch::birth(uint64_t handle, uint32_t index) const noexcept {
  return index < births_.size() && births_[index].handle == handle ? &births_[index] : nullptr;
}

uint32_t Watch::define_site(std::string json) {
  if (sites_.size() >= kMaxSites) return 0;
  sites_.push_back(std::move(json));
  return static_cast<uint32_t>(sites_.size());
}

const std::string& Watch::site(uint32_t id) const noexcept {
  static const std::string unknown;
  return id == 0 || id > sites_.size() ? unknown : sites_[id - 1];
}

void Watch::freed(uint64_t handle, uint32_t index) noexcept {
  if (!deaths_) return;
  const Birth* known = birth(handle, index);
  try {
    order_.push_back(handle);
    dead_[handle] = {known == nullptr ? 0 : known->site, cause_site_, cause_};
    if (order_.size() <= kMaxDeaths) return;
    dead_.erase(order_.front());
    order_.pop_front();
  } catch (const std::bad_alloc&) {
    // A less informative message is better than a tensor that cannot be freed.
  }
}

const Watch::Death* Watch::death(uint64_t handle) const noexcept {
  const auto found = dead_.find(handle);
  return found == dead_.end() ? nullptr : &found->second;
}

}  // namespace ltn::handles
