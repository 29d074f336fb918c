#include "native/async/batch.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "native/async/collected_warnings.h"
#include "native/async/engine_leftovers.h"
#include "native/async/modes.h"

namespace ltn::async {
namespace {

// Collects the tensors in a value: models also take lists, tuples and dicts of them.
void add_tensors(const c10::IValue& value, std::vector<at::Tensor>* tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors->push_back(value.toTensor());
  } else if (value.isList()) {
    if (value.isIntList() || value.isDoubleList() || value.isBoolList()) return;
    for (const c10::IValue& element : value.toListRef()) add_tensors(element, tensors);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) add_tensors(element, tensors);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) add_tensors(entry.value(), tensors);
  }
}

}  // namespace

void Batch::run() noexcept {
  run_steps(/*where_recorded=*/false);
  end();
}

std::chrono::nanoseconds Batch::run_steps(bool where_recorded) noexcept {
  const auto start = std::chrono::steady_clock::now();
  Step* now = nullptr;
  try {
    take_over_threads(intra_op_threads);
    const CollectedWarnings warnings(strand->warnings);
    const ThreadModes* modes = nullptr;  // of the thread now
    std::optional<ModesGuard> guard;
    for (Step* step : steps) {
      if (strand->cancelled.load(std::memory_order_relaxed)) break;
      if (cancelled_.load(std::memory_order_relaxed)) {
        drop_from(step);
        break;
      }
      now = step;
      if (&step->modes() != modes) {
        guard.reset();
        modes = nullptr;
        // The thread that recorded the steps has their modes most often.
        if (!where_recorded || !(step->modes().modes == CallModes::now())) guard.emplace(step->modes());
        modes = &step->modes();
      }
      step->run();
    }
  } catch (...) {  // any exception: rethrown on the JS thread, as that op's
    strand->failed = now != nullptr ? now : steps.empty() ? nullptr : steps.front();
    strand->error = std::current_exception();
    if (now != nullptr && (now->row.mutated & OpRow::kWritesElsewhere) != 0) free_engine_leftovers();  // a backward
  }
  const auto taken = std::chrono::steady_clock::now() - start;
  was_short_ = taken < kShortJob;
  return taken;
}

void Batch::drop() noexcept {
  if (!steps.empty()) drop_from(steps.front());
  end();
}

void Batch::drop_from(Step* step) noexcept {
  strand->failed = step;
  strand->error = std::make_exception_ptr(std::runtime_error("dropped: the process is ending"));
}

// Frees the casted weights: on a pool thread no region ends.
void Batch::free_casts() const noexcept {
  const bool any = std::any_of(steps.begin(), steps.end(), [](const Step* step) { return step->is_autocast(); });
  if (any) clear_autocast_cache();
}

void Batch::end() noexcept {
  free_casts();
  post_end();
}

// Whoever is notified of the end may close the strand, and relies on its tensors being gone then.
void Batch::post_end() noexcept {
  const uint64_t id = strand->id;
  strand.reset();
  mailbox->post(id, was_short_);
}

handles::Borrowed Batch::borrowed() const {
  handles::Borrowed borrowed;
  bool any_writes = false;
  for (const Step* step : steps) {
    borrowed.reach = std::max(borrowed.reach, step->reach());
    any_writes |= step->may_write();
    for (const c10::IValue& value : step->arguments) add_tensors(value, &borrowed.named);
  }
  // Results of earlier steps that JavaScript has by now. Without writes they need no reconciliation.
  std::vector<at::Tensor>& cells = any_writes ? borrowed.unnamed : borrowed.named;
  for (const Step* step : steps) {
    for (const Step* used : step->recording.uses()) {
      if (!used->settled) continue;
      for (const at::Tensor& cell : used->cells) {
        if (cell.defined()) cells.push_back(cell);
      }
    }
  }
  return borrowed;
}

bool Batch::writes() const noexcept {
  for (const Step* step : steps) {
    if (step->row.mutated != 0) return true;
  }
  return false;
}

}  // namespace ltn::async
