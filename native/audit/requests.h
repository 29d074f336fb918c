// The text protocol between leak-audit and a running process: docs/leak-audit.md names the requests.
//
// A request is one line: "ltn1", a verb, and fields "name=value" with percent-encoded values. An answer is one line of
// JSON.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_REQUESTS_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_REQUESTS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "native/audit/audit.h"

namespace ltn::audit {

inline constexpr size_t kMaxRequestBytes = 16 * 1024;

struct Request {
  std::string verb;
  std::map<std::string, std::string> fields;

  // "" if there is no such field.
  const std::string& text(const std::string& name) const;
  uint64_t number(const std::string& name, uint64_t fallback) const;
};

// False, with the reason, if the line is not a request. `line` has no newline.
bool parse_request(std::string_view line, Request* request, std::string* why_not);

struct DeviceFigures {
  std::string name;  // "cpu", "cuda:0"
  uint64_t tensors = 0, storages = 0, bytes = 0, allocated_bytes = 0, peak_allocated_bytes = 0;
};

// Readers of figures of the layers above audit. Any thread.
struct Sources {
  ReadTotals totals = nullptr;
  std::vector<DeviceFigures> (*devices)() = nullptr;
  // Waits, at most `max_ms`, until each environment has reported what it held when the recording began.
  void (*wait_until_notified)(int64_t max_ms) = nullptr;
  // The numbers of the environments (threads) that run JavaScript, the main thread's first.
  std::vector<uint32_t> (*environments)() = nullptr;
  // Makes their JavaScript look for requests soon.
  void (*wake)() = nullptr;
};

// Executes requests. One thread.
class RequestHandler {
 public:
  explicit RequestHandler(const Sources& sources) : sources_(sources) {}

  // The answer, without its newline. `client` identifies the connection, `pid` its process.
  std::string answer(std::string_view line, uint64_t client, pid_t pid);
  // The client disconnected: the recording that it started ends unless it is to be kept.
  void client_closed(uint64_t client) noexcept;
  // When the recording ends by itself, on the steady clock; INT64_MAX: never.
  int64_t deadline() const noexcept;
  void at_deadline() noexcept;
  // The client to notify that the recording it started has ended, once; 0: none.
  uint64_t take_client_to_notify() noexcept;
  bool is_recording_of(uint64_t client) const noexcept { return attached_ && client_ == client; }

 private:
  std::string status() const;
  std::string attach(const Request& request, uint64_t client, pid_t pid);
  std::string detach();
  std::string mark_now(const Request& request);
  std::string snapshot() const;
  std::string threads() const;
  std::string heap(const Request& request, uint64_t client, pid_t pid);
  std::string heap_state(const Request& request) const;
  bool has_environment(uint64_t env) const;
  void end(const char* reason) noexcept;

  const Sources sources_;
  bool attached_ = false;  // a recording started by `attach` runs
  bool keep_ = false;
  uint64_t client_ = 0, client_to_notify_ = 0;
  int64_t began_ms_ = 0, deadline_ms_ = INT64_MAX;
  std::string file_;
};

// {"error":…}
std::string error_answer(const std::string& why);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_REQUESTS_H_
