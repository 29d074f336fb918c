// Recorded ops: from JavaScript to the pool and back. lib/async/ calls these.
#include <ATen/Parallel.h>

#include "native/async/batch.h"
#include "native/async/meta_results.h"
#include "native/async/short_batch.h"
#include "native/convert/call_error.h"
#include "native/env/end_sentinel.h"
#include "native/env/environment_end.h"
#include "native/exports/exports.h"
#include "native/models/call.h"
#include "native/ops/record.h"

namespace ltn {
namespace {

// Of the process's pool, without making one.
async::PoolStatus pool_status() {
  async::Pool* const pool = async::Pool::existing();
  return pool != nullptr ? pool->status() : async::PoolStatus{async::Pool::default_threads(), 0, 0, 0};
}

// Whether the pool does or will do anything. Not by pool_status(): without a pool, that counts the processors, for
// which the C library opens a file.
bool is_pool_busy() {
  async::Pool* const pool = async::Pool::existing();
  if (pool == nullptr) return false;
  const async::PoolStatus status = pool->status();
  return status.running + status.queued != 0;
}

using async::Strand;

std::shared_ptr<Strand> strand_argument(Call& call) {
  return call.state.strand(static_cast<uint64_t>(read_int(call, call.arguments[0], 0)));
}

napi_value open_mailbox(Call& call) {
  call.state.open_mailbox(call.arguments[0]);
  return nullptr;
}

napi_value open_strand(Call& call) { return write_int(call, static_cast<int64_t>(call.state.open_strand())); }

napi_value enter_strand(Call& call) {
  call.state.enter_strand(static_cast<uint64_t>(read_int(call, call.arguments[0], 0)));
  return nullptr;
}

// Bits of strandSubmit's result: lib/async/strand.ts.
enum Submitted : int64_t { kWrites = 1, kHasRun = 2 };

// strandSubmit(id, wanted): submits the ops recorded since the last call, or with `wanted` false those left by a
// failure. A few small ops run at once; their results come by the mailbox too. Returns whether they may write to
// tensors visible to the program, and whether they have run and none failed.
napi_value submit(Call& call) {
  auto batch = std::make_unique<async::Batch>(strand_argument(call));
  if (argument(call, 1).IsArray()) {
    std::vector<uint32_t> wanted;
    const uint32_t length = list_length(call, call.arguments[1], 1, "an array of steps");
    for (uint32_t i = 0; i < length; ++i) {
      wanted.push_back(static_cast<uint32_t>(read_int(call, list_element(call, call.arguments[1], i), 1)));
    }
    batch->steps = batch->strand->next_batch(&wanted);
  } else if (is_null(call, call.arguments[1])) {
    batch->steps = batch->strand->next_batch(nullptr);
  } else {
    batch->steps = batch->strand->rest_of_batch();
  }
  batch->mailbox = call.state.mailbox();
  batch->intra_op_threads = at::get_num_threads();
  int64_t submitted = batch->writes() ? kWrites : 0;
  const uint64_t strand = batch->strand->id;
  // To wake a thread, and to be woken by it, takes longer than such ops. Not past others: they may write to the same
  // tensors.
  const bool here = batch->mailbox->has_time_here() && !is_pool_busy() && async::is_short(*batch);
  call.state.slots().lend_to(strand, batch->borrowed());
  if (call.state.take_borrowed()) {  // the owner's hook and finalizer exist by now
    end_pool_work_first(call.state);
    EndSentinel::put(call.state);
  }
  here ? batch->mailbox->begin_here() : batch->mailbox->begin();
  try {
    if (here) {
      batch->mailbox->post_here(strand);  // first, because it may throw
      batch->mailbox->spend_here(batch->run_here());
      if (batch->strand->failed == nullptr) submitted |= kHasRun;
    } else {
      const void* const owner = batch->mailbox.get();
      async::Pool::process().submit(std::move(batch), owner);
    }
  } catch (...) {  // no thread could be started: nothing runs, and the caller gets the error
    call.state.mailbox()->end();
    call.state.slots().return_from(strand);
    throw;
  }
  return write_int(call, submitted);
}

// shortOps(whole): the names of ops that shortCall() knows; those with one result for a whole tensor, or the others.
napi_value short_ops(Call& call) {
  const bool whole = read_bool(call, call.arguments[0], 0);
  const auto names = async::short_ops(whole ? async::ShortKind::Whole : async::ShortKind::Pointwise);
  napi_value array = new_array(call, names.size());
  for (size_t i = 0; i < names.size(); ++i) set_element(call, array, i, write_string(call, names[i]));
  return array;
}

// shortCall(whole, a, b, c): the number of elements if an op of these handles takes less time than a trip to the pool
// and may run before what the pool does; 0 if not. Not past others: they may write to the same tensors.
napi_value short_call(Call& call) {
  const bool whole = read_bool(call, call.arguments[0], 0);
  std::vector<const at::Tensor*> tensors;
  for (size_t i = 1; i < call.given && i < call.count; ++i) {
    const at::Tensor* tensor = peek_tensor(call, call.arguments[i]);
    if (tensor == nullptr) return write_int(call, 0);  // a pending or a disposed tensor
    tensors.push_back(tensor);
  }
  if (is_pool_busy()) return write_int(call, 0);
  return write_int(call, short_elements(whole ? async::ShortKind::Whole : async::ShortKind::Pointwise, tensors));
}

napi_value mail(Call& call) {
  napi_value array = new_array(call, 0);  // first: a failure after take() would lose messages
  const std::vector<uint64_t> strands = call.state.mailbox()->take();
  for (const uint64_t strand : strands) call.state.slots().return_from(strand);
  for (size_t i = 0; i < strands.size(); ++i) {
    call.state.mailbox()->end();
    set_element(call, array, i, write_int(call, static_cast<int64_t>(strands[i])));
  }
  return array;
}

// After a batch: reconciles changes behind handles, and delivers warnings. Returns whether all steps ran.
napi_value settle(Call& call) {
  const auto strand = strand_argument(call);
  bool wrote = false;
  bool wrote_gradients = false;
  bool all = true;
  for (size_t i = 0; i < strand->size(); ++i) {
    async::Step& step = *strand->step(i);
    call.mutated.append(step.mutated.begin(), step.mutated.end());
    if (step.done) step.mutated.clear();
    wrote |= step.wrote_elsewhere && !step.settled;
    wrote_gradients |= step.reach() == handles::Reach::Gradients && !step.settled;
    step.settled = step.done;
    all &= step.done;
  }
  if (all) strand->writes = strand->reshapes = false;
  strand->drop_unwanted();
  handles::SlotTable& slots = call.state.slots();
  if (wrote) slots.reconcile_all();
  if (wrote || wrote_gradients) slots.reconcile_inner();
  slots.reconcile_returned();
  for (std::string& text : strand->warnings) call.state.warnings().add(std::move(text));
  strand->warnings.clear();
  return write_bool(call, strand->failed == nullptr);
}

// The error of the failed step, as that op's.
napi_value error(Call& call) {
  const auto strand = strand_argument(call);
  if (strand->failed == nullptr) throw CodedError("ERR_TORCH_INTERNAL", "no step failed");
  const std::string inputs = strand->failed->describe();
  const BoundOp op{&call.state, &strand->failed->row, true};
  Call of_op(call.env, op, nullptr, 0, 0);
  of_op.inputs = &inputs;
  try {
    std::rethrow_exception(strand->error);
  } catch (...) {  // any exception becomes a JS error
    return current_error(call.env, &of_op);
  }
}

// Whether the failed step wrote to no existing tensor.
napi_value can_repeat(Call& call) {
  const auto strand = strand_argument(call);
  const async::Step* failed = strand->failed;
  return write_bool(call, failed != nullptr && failed->row.mutated == 0 && !failed->wrote_elsewhere);
}

napi_value take(Call& call) {
  const auto strand = strand_argument(call);
  async::Step* step = strand->step(static_cast<size_t>(read_int(call, call.arguments[1], 1)));
  if (step == nullptr || !step->done) throw CodedError("ERR_TORCH_PENDING", "the result is not there yet");
  auto* of_model = dynamic_cast<models::ValueStep*>(step);
  if (of_model != nullptr && step->cells.empty()) return models::take_value(call, *of_model);
  return take_result(call, *step);
}

// strandMeta(id, code): [dtype, device, ...shape] of a result that may be pending. The dtype is null if only that is
// unknown. If the shape is unknown: why, as text; null if that is unknown too.
napi_value strand_meta(Call& call) {
  const auto strand = strand_argument(call);
  const double code = read_double(call, call.arguments[1], 1);
  const at::Tensor found = async::result_meta(*strand, code);
  const std::string device = found.defined() ? async::device_of(*strand, code) : "";
  if (device.empty() || found.layout() != c10::kStrided) {
    const std::string refusal = found.defined() ? "" : async::refusal_of(*strand, code);
    return refusal.empty() ? static_cast<napi_value>(Napi::Env(call.env).Null()) : write_string(call, refusal);
  }
  napi_value array = new_array(call, static_cast<size_t>(found.dim()) + 2);
  const bool known = async::is_dtype_known(*strand, code);
  set_element(call, array, 0, known ? to_js(call, found.scalar_type()) : Napi::Env(call.env).Null());
  set_element(call, array, 1, write_string(call, device));
  for (int64_t i = 0; i < found.dim(); ++i) {
    set_element(call, array, static_cast<size_t>(i) + 2, write_int(call, found.size(i)));
  }
  return array;
}

// Throws if values cannot be read now: recorded steps will write to them.
napi_value require_read(Call& call) {
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  return nullptr;
}

// The next step does not begin. A batch that waits for a thread ends now: its inputs are freed, and it is not counted
// as waiting.
napi_value cancel(Call& call) {
  const auto strand = strand_argument(call);
  strand->cancelled = true;
  async::Pool* const pool = async::Pool::existing();
  if (pool != nullptr) pool->withdraw(call.state.mailbox().get(), strand->id);
  return nullptr;
}

// Nobody waits for the running op any more: other calls get a thread in its place, after poolReplaceAbandoned.
napi_value abandon(Call& call) {
  const auto strand = strand_argument(call);
  strand->cancelled = true;
  async::Pool::process().abandon(call.state.mailbox().get(), strand->id);
  return nullptr;
}

napi_value close_strand(Call& call) {
  call.state.close_strand(static_cast<uint64_t>(read_int(call, call.arguments[0], 0)));
  return nullptr;
}

napi_value status(Call& call) {
  const async::PoolStatus status = pool_status();
  const size_t values[] = {status.threads, status.running, status.queued, status.abandoned};
  napi_value array = new_array(call, std::size(values));
  for (size_t i = 0; i < std::size(values); ++i)
    set_element(call, array, i, write_double(call, static_cast<double>(values[i])));
  return array;
}

void stop_pool() { async::Pool::stop_process(); }
void replace_abandoned() { async::Pool::process().replace_abandoned(); }
void set_threads(int64_t count) { async::Pool::process().set_threads(static_cast<size_t>(count)); }

const Export kAsyncExports[] = {
    exported_body<&open_mailbox, 1>("strandMailbox", "strandMailbox(func onMail) -> ()"),
    exported_body<&open_strand, 0>("strandOpen", "strandOpen() -> int"),
    exported_body<&enter_strand, 1>("strandEnter", "strandEnter(int strand) -> ()"),
    exported_body<&submit, 2>("strandSubmit", "strandSubmit(int strand, int[]? wanted) -> int"),
    exported_body<&short_ops, 1>("shortOps", "shortOps(bool whole) -> str[]"),
    exported_body<&short_call, 4>("shortCall", "shortCall(bool whole, Tensor? a, Tensor? b, Tensor? c) -> int"),
    exported_body<&mail, 0>("strandMail", "strandMail() -> int[]"),
    may_outgrow(exported_body<&settle, 1>("strandSettle", "strandSettle(int strand) -> bool")),
    exported_body<&error, 1>("strandError", "strandError(int strand) -> Error"),
    exported_body<&can_repeat, 1>("strandCanRepeat", "strandCanRepeat(int strand) -> bool"),
    exported_body<&take, 2>("strandTake", "strandTake(int strand, int step) -> Any"),
    exported_body<&strand_meta, 2>("strandMeta", "strandMeta(int strand, float code) -> Any"),
    exported_body<&require_read, 1>("strandRequireRead", "strandRequireRead(Tensor self) -> ()"),
    exported_body<&cancel, 1>("strandCancel", "strandCancel(int strand) -> ()"),
    exported_body<&abandon, 1>("strandAbandon", "strandAbandon(int strand) -> ()"),
    exported_body<&close_strand, 1>("strandClose", "strandClose(int strand) -> ()"),
    exported_body<&status, 0>("poolStatus", "poolStatus() -> int[]"),
    exported("poolStop", "poolStop() -> ()", &stop_pool),
    exported("poolReplaceAbandoned", "poolReplaceAbandoned() -> ()", &replace_abandoned),
    exported("poolSetThreads", "poolSetThreads(int count) -> ()", &set_threads),
};

}  // namespace

ExportList async_exports() { return {kAsyncExports, std::size(kAsyncExports)}; }

}  // namespace ltn
