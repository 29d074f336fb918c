#ifdef USE_C10D_GLOO
#include "native/c10d/transport.h"

#include <gloo/config.h>

#include <utility>

// Gloo is built without its connections over TCP where it has libuv's instead (macOS).
#if GLOO_HAVE_TRANSPORT_TCP
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <mutex>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace ltn::c10d_addon {
namespace {

namespace tcp = ::gloo::transport::tcp;
using Opcode = tcp::Op::Opcode;
using Message = ::gloo::NonOwningPtr<tcp::UnboundBuffer>;

constexpr size_t kHead = sizeof(tcp::Op::preamble);

// An exception that leaves the thread of Gloo would end the process. In the first releases of Gloo that handler also
// makes the connection; in later ones it takes another argument, and only reads and writes.
template <class Given, class = void>
class Guarded : public Given {
  using Given::Given;
};

template <class Given>
class Guarded<Given, std::enable_if_t<std::is_same_v<decltype(&Given::handleEvents), void (Given::*)(int)>>>
    : public Given {
 public:
  using Given::Given;
  void handleEvents(int events) override {
    try {
      Given::handleEvents(events);
    } catch (...) {  // the error of all that waits on the connection
      // Who has the lock may wait for this thread; then the event comes again.
      const std::unique_lock<std::mutex> lock(this->m_, std::try_to_lock);
      if (lock && this->ex_ == nullptr) this->signalException(std::current_exception());
    }
  }
};

// One connection. Lifetime: that of the context. Thread: any; Gloo holds the mutex of the pair in each call below.
class CheckedPair final : public Guarded<tcp::Pair> {
 public:
  using Guarded::Guarded;
  // As Gloo's own, but while the functions below still are those that its thread calls.
  ~CheckedPair() override {
    const std::lock_guard<std::mutex> lock(m_);
    if (state_ != CLOSED) changeState(CLOSED);
  }

  // Takes the place of a pair that is not connected yet, under whose address the other rank will look for it.
  void replace(const ::gloo::transport::Pair& other) { self_ = static_cast<const tcp::Address&>(other.address()); }

 protected:
  void handleReadWrite(int events) override {
    try {
      Pair::handleReadWrite(events);
    } catch (...) {  // the error of all that waits on the connection
      if (ex_ == nullptr) signalException(std::current_exception());
    }
  }

  bool read() override {
    if (isSync() || state_ == CLOSED) return Pair::read();
    if (rx_.nread < kHead) {
      if (!read_head()) return false;
      if (rx_.nread == kHead && !check_head()) return false;
    }
    // What waited for the message may be withdrawn before all of it is there.
    if (rx_.ubuf && !Message(rx_.ubuf)) is_dropped_ = true;
    return is_dropped_ ? drop() : Pair::read();
  }

  bool write(tcp::Op& op) override {
    if (!isSync() && state_ != CLOSED && op.getOpcode() == Opcode::SEND_UNBOUND_BUFFER && !Message(op.ubuf)) {
      // The other rank waits for the rest, which is gone.
      signalException("a send was withdrawn in the middle of its message");
      return false;
    }
    return Pair::write(op);
  }

  void changeState(state next) noexcept override {
    if (next == CLOSED && state_ != CLOSED) {
      if (state_ != CONNECTED) watch();
      if (ex_ != nullptr && !std::exchange(has_told_, true) && tell_begun()) return;
    }
    Pair::changeState(next);
  }

 private:
  // Reads the head of a message; false if more of it has to come.
  bool read_head() {
    while (rx_.nread < kHead) {
      char* const rest = reinterpret_cast<char*>(&rx_.preamble) + rx_.nread;
      const ssize_t count = ::recv(fd_, rest, kHead - rx_.nread, 0);
      if (count > 0) {
        rx_.nread += static_cast<size_t>(count);
      } else if (count < 0 && errno == EINTR) {
        continue;
      } else {
        return !(count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));  // other errors are Gloo's to report
      }
    }
    return true;
  }

  // Whether reading goes on: false if the connection has failed.
  bool check_head() {
    switch (rx_.getOpcode()) {
      case Opcode::SEND_UNBOUND_BUFFER:
        return check_message();
      case Opcode::NOTIFY_RECV_READY:
        forget_withdrawn();
        return true;
      case Opcode::SEND_BUFFER:
      case Opcode::NOTIFY_SEND_READY:
        return true;
    }
    signalException("a message that is not one of Gloo came from the address of rank " + std::to_string(rank_));
    return false;
  }

  bool check_message() {
    const auto found = localPendingRecv_.find(rx_.preamble.slot);
    if (found == localPendingRecv_.end() || found->second.empty()) return true;  // Gloo reports it
    const auto& [buffer, offset, expected] = found->second.front();
    if (!Message(buffer)) {
      is_dropped_ = true;
      found->second.pop_front();
      if (found->second.empty()) localPendingRecv_.erase(found);
      return true;
    }
    if (rx_.preamble.length == expected) return true;
    signalException("rank " + std::to_string(rank_) + " of the group sent " + std::to_string(rx_.preamble.length) +
                    " bytes, expected " + std::to_string(expected) + ": the tensors of the ranks differ");
    return false;
  }

  // Reads a message for which nothing waits any more.
  bool drop() {
    std::array<char, 16384> unused;
    while (rx_.nread - kHead < rx_.preamble.length) {
      const size_t rest = rx_.preamble.length - (rx_.nread - kHead);
      const ssize_t count = ::recv(fd_, unused.data(), std::min(rest, unused.size()), 0);
      if (count > 0) {
        rx_.nread += static_cast<size_t>(count);
      } else if (count == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
        signalException("Connection closed by peer " + peer_.str());
        return false;
      } else if (errno != EINTR) {
        return false;  // more has to come
      }
    }
    rx_ = tcp::Op();
    is_dropped_ = false;
    return true;
  }

  // The other rank can receive: sends that were withdrawn are not what it gets.
  void forget_withdrawn() {
    const auto found = localPendingSend_.find(rx_.preamble.slot);
    if (found == localPendingSend_.end()) return;
    auto& queue = found->second;
    while (!queue.empty() && !Message(std::get<0>(queue.front()))) queue.pop_front();
    if (queue.empty()) localPendingSend_.erase(found);
  }

  // Gloo tells those whose transfer has not begun, and would let the others wait until their time limit. True if the
  // connection is closed now.
  bool tell_begun() noexcept {
    try {
      if (rx_.ubuf) localPendingRecv_[rx_.preamble.slot].emplace_back(rx_.ubuf, rx_.offset, rx_.nbytes);
      for (const tcp::Op& op : tx_) {
        if (op.ubuf) localPendingSend_[op.preamble.slot].emplace_back(op.ubuf, op.offset, op.nbytes);
      }
      signalException(std::exchange(ex_, nullptr));
      return true;
    } catch (...) {  // out of memory: they wait until their time limit
      return false;
    }
  }

  // Gloo ends the process if it cannot stop to watch a socket, and does not watch one whose connection fails at once.
  void watch() noexcept {
    if (fd_ < 0) return;
    try {
      device_->registerDescriptor(fd_, 0, this);
    } catch (...) {  // it cannot be watched: it is closed here
      ::close(fd_);
      fd_ = -1;
    }
  }

  bool is_dropped_ = false;  // the message that is being read
  bool has_told_ = false;
};

// The connections of one rank. Lifetime: shared by the group's context and its buffers. Thread: that of Gloo's calls.
class CheckedContext final : public tcp::Context {
 public:
  using Context::Context;

  std::unique_ptr<::gloo::transport::Pair>& createPair(int rank) override {
    pairs_[rank] = std::make_unique<CheckedPair>(this, device_.get(), rank, getTimeout());
    return pairs_[rank];
  }

  // Later releases of Gloo make the pairs by a function that cannot be overridden, and get the first of them by this
  // one, which they can, before any is connected. In earlier ones this is not called.
  std::unique_ptr<::gloo::transport::Pair>& getPair(int rank) {
    if (!std::exchange(has_replaced_, true)) replace_pairs();
    return Context::getPair(rank);
  }

 private:
  void replace_pairs() {
    for (size_t i = 0; i < pairs_.size(); ++i) {
      if (pairs_[i] == nullptr || dynamic_cast<CheckedPair*>(pairs_[i].get()) != nullptr) continue;
      auto pair = std::make_unique<CheckedPair>(this, device_.get(), static_cast<int>(i), getTimeout());
      pair->replace(*pairs_[i]);
      pairs_[i] = std::move(pair);
    }
  }

  bool has_replaced_ = false;
};

// Lifetime: shared by the options and the contexts of a group. Thread: any.
class CheckedDevice final : public ::gloo::transport::Device {
 public:
  explicit CheckedDevice(std::shared_ptr<tcp::Device> device) : device_(std::move(device)) {}

  std::string str() const override { return device_->str(); }
  const std::string& getPCIBusID() const override { return device_->getPCIBusID(); }
  int getInterfaceSpeed() const override { return device_->getInterfaceSpeed(); }
  bool hasGPUDirect() const override { return device_->hasGPUDirect(); }
  std::shared_ptr<::gloo::transport::Context> createContext(int rank, int size) override {
    return std::make_shared<CheckedContext>(device_, rank, size);
  }

 private:
  const std::shared_ptr<tcp::Device> device_;
};

}  // namespace
}  // namespace ltn::c10d_addon
#endif

namespace ltn::c10d_addon {

std::shared_ptr<::gloo::transport::Device> checked(std::shared_ptr<::gloo::transport::Device> device) {
#if GLOO_HAVE_TRANSPORT_TCP
  // Exactly: the device of TLS is derived from it.
  const auto& given = *device;
  if (typeid(given) == typeid(tcp::Device)) {
    return std::make_shared<CheckedDevice>(std::static_pointer_cast<tcp::Device>(std::move(device)));
  }
#endif
  return device;
}

}  // namespace ltn::c10d_addon

#endif  // USE_C10D_GLOO
