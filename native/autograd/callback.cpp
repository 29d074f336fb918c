#include "native/autograd/callback.h"

#include <utility>

#include "native/convert/from_js.h"
#include "native/convert/to_js.h"
#include "native/errors/callback_error.h"
#include "native/errors/thrown.h"

namespace ltn::autograd {
namespace {

// How many callbacks are in progress on this thread, one inside the other.
thread_local uint32_t thread_depth = 0;

struct Depth {
  Depth() { ++thread_depth; }
  ~Depth() { --thread_depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace

CallbackFrame::CallbackFrame(Call& call, napi_value function) : call_(call), function_(function) {}

void CallbackFrame::push(const at::Tensor& tensor) { arguments_.push_back(write_element(call_, at::Tensor(tensor))); }

void CallbackFrame::push_list(const std::vector<at::Tensor>& tensors) {
  arguments_.push_back(to_js(call_, std::vector<at::Tensor>(tensors)));
}

napi_value CallbackFrame::run() {
  napi_value receiver = nullptr;
  check(call_.env, napi_get_undefined(call_.env, &receiver));
  napi_value result = nullptr;
  if (napi_call_function(call_.env, receiver, function_, arguments_.size(), arguments_.data(), &result) == napi_ok) {
    return result;
  }
  napi_value thrown = take_pending(call_.env);
  renew_termination(call_.env);
  if (thrown == nullptr) throw CodedError("ERR_TORCH_INTERNAL", "the thread is being ended");
  throw ThrownByProgram(thrown);
}

at::Tensor CallbackFrame::tensor(napi_value handle) {
  const double number = read_double(call_, handle, 0);
  if (!(number > 0)) return at::Tensor();
  const at::Tensor* found = call_.state.slots().use(static_cast<handles::Handle>(number));
  if (found == nullptr)
    throw CodedError("ERR_TORCH_DISPOSED", "a gradient that the program's function returned was disposed");
  return *found;
}

std::vector<at::Tensor> CallbackFrame::tensors(napi_value handles) {
  const uint32_t length = list_length(call_, handles, 0, "an array of handles");
  std::vector<at::Tensor> list;
  list.reserve(length);
  for (uint32_t i = 0; i < length; ++i) list.push_back(tensor(list_element(call_, handles, i)));
  return list;
}

std::string CallbackFrame::text(napi_value value) { return read_string(call_, value, 0); }

Callback::Callback(Call& call, napi_value function)
    : state_(&call.state), queue_(CallbackQueue::of_thread()), releases_(call.state.releases()) {
  napi_ref reference = nullptr;
  check(call.env, releases_->refer(function, &reference));
  reference_ = reference;
  queue_->add();
}

Callback::~Callback() {
  drop();
  queue_->remove();
}

bool Callback::is_running_on_thread() noexcept { return thread_depth != 0; }

void Callback::drop() noexcept {
  if (const napi_ref reference = reference_.exchange(nullptr)) releases_->push(reference);
}

void Callback::call(const std::function<void(CallbackFrame&)>& use) const {
  if (reference_ == nullptr) return;
  try {
    const bool here = queue_->is_of_thread();  // a thread may have several environments, one for each copy of the addon
    if (here && state_->current_call() != nullptr) return call_here(use);
    if (!here && queue_->request([&] { call_here(use); })) return;
    throw CodedError("ERR_TORCH_CALLBACK_THREAD",
                     "a hook or an autograd.Function of JavaScript: expected a backward that the thread of its "
                     "JavaScript waits for, got one of another thread (torch.run and torch.async run ops on pool "
                     "threads): call backward() outside of them");
  } catch (...) {  // a model's method that has begun the backward rethrows it
    keep_callback_error();
    throw;
  }
}

void Callback::call_here(const std::function<void(CallbackFrame&)>& use) const {
  const napi_ref reference = reference_;
  if (reference == nullptr) return;  // dropped while another thread waited
  const Depth depth;
  Call& call = *Call::current(*state_);
  napi_escapable_handle_scope scope = nullptr;
  check(call.env, napi_open_escapable_handle_scope(call.env, &scope));
  try {
    napi_value function = nullptr;
    check(call.env, napi_get_reference_value(call.env, reference, &function));
    CallbackFrame frame(call, function);
    use(frame);
  } catch (const ThrownByProgram& error) {  // the exception outlives the scope
    napi_value value = nullptr;
    const bool is_kept = napi_escape_handle(call.env, scope, error.value(), &value) == napi_ok;
    napi_close_escapable_handle_scope(call.env, scope);
    if (!is_kept) throw CodedError("ERR_TORCH_INTERNAL", "the exception of the program's function could not be kept");
    throw ThrownByProgram(value);
  } catch (...) {  // the scope is owned by this function only
    napi_close_escapable_handle_scope(call.env, scope);
    throw;
  }
  napi_close_escapable_handle_scope(call.env, scope);
}

}  // namespace ltn::autograd
