// What backwards and collectives do when: libtorch's record functions, for lib/distributed/trace.ts.
#include <ATen/record_function.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "native/exports/exports.h"

namespace ltn {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point time) {
  return std::chrono::duration<double, std::micro>(time.time_since_epoch()).count();
}

struct Span {
  std::string name;
  bool is_backward;  // a node of a backward, or else a collective or another scope of libtorch
  uint64_t thread;
  Clock::time_point begin, end;
};

// Lifetime: one for the process, never destroyed, because threads of Gloo may end a span at any time. Thread: any.
class Recorder {
 public:
  // False if a recording is in progress.
  bool start() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_on_) return false;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&begin_span, &end_span)
                                        .scopes({at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
    is_on_ = true;
    return true;
  }

  std::vector<Span> stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_on_) at::removeCallback(handle_);
    is_on_ = false;
    // A thread of Gloo completes a collective before it ends its span.
    for (const auto& [begun, span] : open_) add(span);
    open_.clear();
    return std::exchange(spans_, {});
  }

 private:
  // Enough for hours of steps; later spans are left out.
  static constexpr size_t kMost = 1'000'000;

  // Identifies a span that has begun.
  struct Begun final : at::ObserverContext {};

  static std::unique_ptr<at::ObserverContext> begin_span(const at::RecordFunction& function);
  static void end_span(const at::RecordFunction& function, at::ObserverContext* context);

  // With the mutex held.
  void add(Span span) {
    if (spans_.size() >= kMost) return;
    span.end = Clock::now();
    spans_.push_back(std::move(span));
  }

  std::mutex mutex_;
  bool is_on_ = false;                          // guarded by mutex_
  std::vector<Span> spans_;                     // guarded by mutex_
  std::unordered_map<const void*, Span> open_;  // by Begun, which is not accessed; guarded by mutex_
  at::CallbackHandle handle_ = 0;
};

Recorder& process_recorder() {
  static auto* const recorder = new Recorder;  // see its lifetime
  return *recorder;
}

std::unique_ptr<at::ObserverContext> Recorder::begin_span(const at::RecordFunction& function) {
  auto begun = std::make_unique<Begun>();
  Recorder& recorder = process_recorder();
  const std::lock_guard<std::mutex> lock(recorder.mutex_);
  if (!recorder.is_on_ || recorder.spans_.size() + recorder.open_.size() >= kMost) return nullptr;
  const auto now = Clock::now();
  const bool is_backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  recorder.open_.emplace(begun.get(), Span{function.name(), is_backward, function.threadId(), now, now});
  return begun;
}

void Recorder::end_span(const at::RecordFunction&, at::ObserverContext* context) {
  if (context == nullptr) return;
  Recorder& recorder = process_recorder();
  const std::lock_guard<std::mutex> lock(recorder.mutex_);
  const auto found = recorder.open_.find(context);
  if (found == recorder.open_.end()) return;  // the recording that it began in is over
  recorder.add(std::move(found->second));
  recorder.open_.erase(found);
}

// The environment that has started the recording ends in its middle.
void end_environment(void*) { process_recorder().stop(); }

// traceStart() -> bool
napi_value start(Call& call) {
  const bool is_started = process_recorder().start();
  if (is_started) napi_add_env_cleanup_hook(call.env, &end_environment, nullptr);
  return write_bool(call, is_started);
}

// traceStop() -> [name, whether it is of a backward, thread, begin, end], times in microseconds of the steady clock
napi_value stop(Call& call) {
  napi_remove_env_cleanup_hook(call.env, &end_environment, nullptr);
  const std::vector<Span> spans = process_recorder().stop();
  const napi_value list = new_array(call, spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const napi_value row = new_array(call, 5);
    set_element(call, row, 0, write_string(call, span.name));
    set_element(call, row, 1, write_bool(call, span.is_backward));
    set_element(call, row, 2, write_int(call, static_cast<int64_t>(span.thread)));
    set_element(call, row, 3, write_double(call, microseconds(span.begin)));
    set_element(call, row, 4, write_double(call, microseconds(span.end)));
    set_element(call, list, i, row);
  }
  return list;
}

const Export kTraceExports[] = {
    exported_body<&start, 0>("traceStart", "traceStart() -> bool"),
    exported_body<&stop, 0>("traceStop", "traceStop() -> Any"),
};

}  // namespace

ExportList trace_exports() { return {kTraceExports, std::size(kTraceExports)}; }

}  // namespace ltn
