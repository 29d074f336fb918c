// The signal of RLIMIT_FSIZE, whose default ends the program.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_NO_SIZE_SIGNAL_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_NO_SIZE_SIGNAL_H_

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <cerrno>

namespace ltn::audit {

// While it lives, a write of this thread beyond RLIMIT_FSIZE fails instead of ending the program.
class NoSizeSignal {
 public:
  NoSizeSignal() noexcept {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoSizeSignal() {
    const int code = errno;  // of the write
    if (!was_pending_) take_signal();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = code;
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  // The signal that a write has made; there may be none.
  void take_signal() noexcept {
#if defined(__APPLE__)
    sigset_t pending;
    sigpending(&pending);
    int taken = 0;
    if (sigismember(&pending, SIGXFSZ) == 1) static_cast<void>(sigwait(&signal_, &taken));
#else
    const timespec now{};
    static_cast<void>(sigtimedwait(&signal_, nullptr, &now));
#endif
  }

  sigset_t signal_, before_;
  bool was_pending_ = false;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_NO_SIZE_SIGNAL_H_
