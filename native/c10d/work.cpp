#include "native/c10d/work.h"

#include <ATen/core/ivalue_inl.h>
#include <c10/util/Exception.h>

#include "native/c10d/interruption.h"

namespace ltn::c10d_addon {

bool C10dWork::on_end(std::function<void(std::exception_ptr)> done) {
  if (is_point_to_point()) return false;  // these have no future
  c10::intrusive_ptr<c10::ivalue::Future> future;
  try {
    future = work_->getFuture();
  } catch (const c10::Error&) {  // the work of reduce_scatter in libtorch 2.14 says that it has none
  }
  if (future == nullptr) return false;
  future->addCallback([done = std::move(done), finish = finish_](c10::ivalue::Future& ended) {
    std::exception_ptr error = ended.hasError() ? ended.exception_ptr() : nullptr;
    try {
      if (error == nullptr && finish) finish();
    } catch (...) {  // no exception may leave a thread of Gloo
      error = std::current_exception();
    }
    done(std::move(error));
  });
  return true;
}

void C10dWork::wait() {
  wait_for(*work_, [] {});  // whoever started it ends the group
  if (finish_) finish_();
}

void C10dWork::cancel() noexcept {
  if (!is_point_to_point()) return;
  try {
    work_->abort();
  } catch (const std::exception&) {  // it has ended
  }
}

distributed::Failure failure_of(std::exception_ptr error) {
  distributed::Failure failure;
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& thrown) {
    failure.message = thrown.what_without_backtrace();
  } catch (const std::exception& thrown) {
    failure.message = thrown.what();
  } catch (...) {  // not a std::exception: still no reason to end the process
    failure.message = "an unknown C++ exception";
  }
  for (const char* sign : {"imed out", "imeout", "TIMEOUT"}) {
    failure.timed_out |= failure.message.find(sign) != std::string::npos;
  }
  return failure;
}

}  // namespace ltn::c10d_addon
