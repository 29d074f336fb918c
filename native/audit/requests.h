// What leak-audit asks a running process, as text: docs/leak-audit.md names the requests.
//
// A request is one line: "ltn1", a verb, and fields "name=value" of which values are percent-encoded. An answer is one
// line of JSON.
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

inline constexpr size_t kMostRequestBytes = 16 * 1024;

struct Request {
  std::string verb;
  std::map<std::string, std::string> fields;

  // "" where there is no such field.
  const std::string& text(const std::string& name) const;
  uint64_t number(const std::string& name, uint64_t otherwise) const;
};

// False, with the reason, when it is none. `line` has no newline.
bool parse_request(std::string_view line, Request* request, std::string* why_not);

struct DeviceFigures {
  std::string name;  // "cpu", "cuda:0"
  uint64_t tensors = 0, storages = 0, bytes = 0, allocated_bytes = 0, peak_allocated_bytes = 0;
};

// Where figures come from that the audit cannot ask for by name. Any thread.
struct Sources {
  ReadTotals totals = nullptr;
  std::vector<DeviceFigures> (*devices)() = nullptr;
  // Waits, at most so long, until each environment has told a recording that began what it held then.
  void (*wait_until_told)(int64_t most_ms) = nullptr;
  // The numbers of the environments (threads) that JavaScript can be asked of, the main thread's first.
  std::vector<uint32_t> (*environments)() = nullptr;
  // Their JavaScript looks soon whether something is asked of it.
  void (*wake)() = nullptr;
};

// What requests do. One thread.
class Desk {
 public:
  explicit Desk(const Sources& sources) : sources_(sources) {}

  // The answer, without its newline. `client` is who asks (any number that is its own), `pid` its process.
  std::string answer(std::string_view line, uint64_t client, pid_t pid);
  // The client is gone: what it began, and no one is to keep, ends.
  void gone(uint64_t client) noexcept;
  // When a recording has to end by itself, on the steady clock; INT64_MAX: never.
  int64_t deadline() const noexcept;
  void at_deadline() noexcept;
  // Whom to tell that the recording that it began has ended, once; 0: nobody.
  uint64_t ended() noexcept;
  bool began(uint64_t client) const noexcept { return on_ && client_ == client; }

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
  bool on_ = false;  // a recording that `attach` began
  bool kept_ = false;
  uint64_t client_ = 0, to_tell_ = 0;
  int64_t began_ms_ = 0, deadline_ms_ = INT64_MAX;
  std::string file_;
};

// {"error":…}
std::string error_answer(const std::string& why);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_REQUESTS_H_
