// A process group of c10d: of Gloo, or of NCCL where libtorch has it.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <mutex>

#include "native/c10d/release.h"
#include "native/distributed/library.h"

namespace ltn::c10d_addon {

// Lifetime: shared by JavaScript's value and the works in progress; the last one lets a thread of its own end it
// (distributed::own_group). close() frees the connections earlier. Thread: see distributed::Group.
class C10dGroup : public distributed::Group {
 public:
  std::shared_ptr<distributed::Work> start(distributed::Collective collective) override;
  void set_sequence_number() override;
  void close() noexcept override;
  int size() const noexcept override { return size_; }

  // For whoever needs libtorch's own type (c10d::Reducer). Throws if the group is closed.
  c10::intrusive_ptr<c10d::ProcessGroup> process_group() const;

 protected:
  C10dGroup(c10::intrusive_ptr<Backend> backend, const std::shared_ptr<distributed::Store>& store, bool is_gloo);
  // Null once closed.
  c10::intrusive_ptr<Backend> backend() const;

 private:
  mutable std::mutex mutex_;
  c10::intrusive_ptr<Backend> backend_;  // guarded by mutex_; null once closed
  const std::shared_ptr<distributed::Store> store_;
  const int size_;
  const bool is_gloo_;                                            // or NCCL's
  mutable c10::intrusive_ptr<c10d::ProcessGroup> process_group_;  // guarded by mutex_; null until asked for
};

distributed::Group* make_group(const std::shared_ptr<distributed::Store>& store,
                               const distributed::GroupOptions& options);

}  // namespace ltn::c10d_addon
