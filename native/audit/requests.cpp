#include "native/audit/requests.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "native/audit/capture_file.h"
#include "native/audit/created_totals.h"
#include "native/audit/descriptor.h"
#include "native/audit/heap_requests.h"
#include "native/audit/writer.h"

namespace ltn::audit {

namespace {

constexpr size_t kMaxSites = 300;
constexpr size_t kMaxNameBytes = 800;
constexpr uint64_t kMaxIntervalMs = 1000;
constexpr int64_t kNotifyTimeoutMs = 500;
constexpr uint64_t kMaxDepth = 64;

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool decode(std::string_view text, std::string* out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      *out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex(text[i + 1]), low = hex(text[i + 2]);
    if (high < 0 || low < 0) return false;
    *out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out->find('\0') == std::string::npos;
}

// Sequences of one to four bytes; anything else would make the answers invalid JSON.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80 ? 1 : byte >= 0xC2 && byte < 0xE0 ? 2 : byte >= 0xE0 && byte < 0xF0 ? 3 : 4;
    if (length == 4 && (byte < 0xF0 || byte > 0xF4)) return false;
    if (i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return is_utf8(text) ? text : std::string();
}

std::string field(const char* name, uint64_t value) { return '"' + std::string(name) + "\":" + std::to_string(value); }

}  // namespace

const std::string& Request::text(const std::string& name) const {
  static const std::string none;
  const auto it = fields.find(name);
  return it == fields.end() ? none : it->second;
}

uint64_t Request::number(const std::string& name, uint64_t fallback) const {
  const std::string& value = text(name);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return value.empty() || error != std::errc() || end != value.data() + value.size() ? fallback : number;
}

bool parse_request(std::string_view line, Request* request, std::string* why_not) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= line.size();) {
    const size_t space = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, space - at));
    at = space + 1;
  }
  if (words[0] != "ltn1") {
    const bool other = words[0].substr(0, 3) == "ltn";
    *why_not = other ? "the process speaks version 1 of the protocol: use the leak-audit of its own libtorch-node"
                     : "not a request";
    return false;
  }
  if (words.size() > 1) request->verb = words[1];
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    std::string value;
    if (equals == 0 || equals == std::string_view::npos || !decode(words[i].substr(equals + 1), &value) ||
        !is_utf8(value)) {
      *why_not = "a field of the request is malformed";
      return false;
    }
    request->fields[std::string(words[i].substr(0, equals))] = value;
  }
  return true;
}

std::string error_answer(const std::string& why) { return "{\"error\":" + json_quote(why) + "}"; }

std::string RequestHandler::answer(std::string_view line, uint64_t client, pid_t pid) {
  Request request;
  std::string why_not;
  if (!parse_request(line, &request, &why_not)) return error_answer(why_not);
  if (request.verb == "status") return status();
  if (request.verb == "attach") return attach(request, client, pid);
  if (request.verb == "detach") return detach();
  if (request.verb == "mark") return mark_now(request);
  if (request.verb == "snapshot") return snapshot();
  if (request.verb == "threads") return threads();
  if (request.verb == "heap") return heap(request, client, pid);
  if (request.verb == "heap-state") return heap_state(request);
  return error_answer("unknown request");
}

// Opens a file that leak-audit holds open. Not by its path, which may name another file here, or none, or one that this
// process may not write to.
static Descriptor open_of(pid_t pid, uint64_t fd, std::string* why_not) {
  if (pid <= 0) {
    *why_not = "leak-audit's pid is not visible to the process: run leak-audit in its container";
    return {};
  }
  const std::string source = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  struct stat found {};
  if (::stat(source.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {  // opening a device may have side effects
    *why_not = "the file is not a capture reserved for a process";
    return {};
  }
  Descriptor file(::open(source.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) *why_not = std::string("the process cannot open the file: ") + std::strerror(errno);
  return file;
}

std::string RequestHandler::status() const {
  std::string recording = "null";
  if (audit::recording()) {
    recording = std::string(R"({"by":")") + (attached_ ? "attach" : "run") + "\"";
    if (attached_)
      recording += ",\"file\":" + json_quote(file_) + "," + field("ms", static_cast<uint64_t>(steady_ms() - began_ms_));
    recording += "}";
  }
  return "{\"ok\":true," + field("pid", static_cast<uint64_t>(::getpid())) + ",\"recording\":" + recording + "}";
}

std::string RequestHandler::attach(const Request& request, uint64_t client, pid_t pid) {
  if (audit::recording()) return error_answer(attached_ ? "attached" : "run");
  std::string refusal;
  Descriptor file = open_of(pid, request.number("fd", 0), &refusal);
  if (!file) return error_answer(refusal);
  Options options;
  options.path = request.text("path");
  const std::string& mode = request.text("mode");
  options.mode = mode == "counters" ? Options::Counters : mode == "sample" ? Options::Sample : Options::Full;
  options.interval_ms = std::min(request.number("interval", kMaxIntervalMs), kMaxIntervalMs);
  options.sample_bytes = request.number("sample", options.sample_bytes);
  options.adapt_distance = request.number("adapt", 0) != 0;
  options.depth = static_cast<int>(std::clamp<uint64_t>(request.number("depth", 16), 1, kMaxDepth));
  options.max_bytes = request.number("max", 0);
  options.totals = sources_.totals;
  options.command = command_line();
  options.attached = true;
  std::string why_not;
  options.fd = file.release();
  if (!start(options, &why_not)) return error_answer(why_not);
  attached_ = true;
  keep_ = request.number("keep", 0) != 0;
  client_ = client;
  file_ = std::move(options.path);
  began_ms_ = steady_ms();
  const uint64_t duration = request.number("duration", 0);
  deadline_ms_ = duration == 0 ? INT64_MAX : began_ms_ + static_cast<int64_t>(std::min<uint64_t>(duration, 1ull << 50));
  return "{\"ok\":true," + field("pid", static_cast<uint64_t>(::getpid())) + "}";
}

std::string RequestHandler::detach() {
  if (!audit::recording()) return error_answer("not attached");
  if (!attached_) return error_answer("run");
  // A thread that has been busy since the recording began must reach its event loop first.
  if (sources_.wait_until_notified != nullptr) sources_.wait_until_notified(kNotifyTimeoutMs);
  const std::string file = json_quote(file_);
  const auto ms = static_cast<uint64_t>(steady_ms() - began_ms_);
  end("detached");
  return "{\"ok\":true,\"file\":" + file + "," + field("ms", ms) + "}";
}

std::string RequestHandler::mark_now(const Request& request) {
  const std::string& name = request.text("name");
  if (name.empty() || name.size() > kMaxNameBytes) return error_answer("the name of a mark must have 1 to 800 bytes");
  if (!audit::recording()) return error_answer("not attached");
  return audit::mark(name) ? "{\"ok\":true}" : error_answer("the capture has no room for more marks");
}

std::string RequestHandler::snapshot() const {
  const Snapshot now = take_snapshot(kMaxSites);
  const Totals totals = sources_.totals != nullptr ? sources_.totals() : Totals{};
  std::string out = "{\"ok\":true," + field("pid", static_cast<uint64_t>(::getpid())) + "," + field("rss", now.rss) +
                    "," + field("tensors", totals.tensors) + "," + field("storages", totals.storages) + "," +
                    field("bytes", totals.bytes) + "," + field("allocatedBytes", totals.allocated_bytes) + "," +
                    field("peakAllocatedBytes", totals.peak_allocated_bytes) + ",\"devices\":[";
  if (sources_.devices != nullptr) {
    const char* separator = "";
    for (const DeviceFigures& device : sources_.devices()) {
      out += separator + std::string("{\"device\":") + json_quote(device.name) + "," +
             field("tensors", device.tensors) + "," + field("storages", device.storages) + "," +
             field("bytes", device.bytes) + "," + field("allocatedBytes", device.allocated_bytes) + "," +
             field("peakAllocatedBytes", device.peak_allocated_bytes) + "}";
      separator = ",";
    }
  }
  out += "],\"sites\":";
  if (now.ms < 0) return out + "null}";
  out += "[";
  const char* separator = "";
  for (const Snapshot::Row& row : now.rows) {
    out += separator + std::string("{\"stack\":") + (row.stack.empty() ? "[]" : row.stack) + ",\"device\":[" +
           std::to_string(row.device_type) + "," + std::to_string(row.device_index) + "]," +
           field("liveTensors", row.live_tensors) + "," + field("liveBytes", row.live_bytes) + "," +
           field("allocatedTensors", row.allocated_tensors) + "," + field("allocatedBytes", row.allocated_bytes) + "}";
    separator = ",";
  }
  const char* mode = now.mode == Options::Counters ? "counters" : now.mode == Options::Sample ? "sample" : "full";
  if (now.mode != Options::Counters) {
    const CreatedTotals since_start = created_totals();
    out += "],\"made\":{" + field("tensors", since_start.tensors) + "," + field("bytes", since_start.bytes) + "}";
  } else {
    out += "]";
  }
  return out + "," + field("ms", static_cast<uint64_t>(now.ms)) + ",\"mode\":\"" + mode + "\"}";
}

std::string RequestHandler::threads() const {
  std::string out = "{\"ok\":true,\"threads\":[";
  const char* separator = "";
  for (const uint32_t env : sources_.environments == nullptr ? std::vector<uint32_t>() : sources_.environments()) {
    out += separator + std::to_string(env);
    separator = ",";
  }
  return out + "]}";
}

bool RequestHandler::has_environment(uint64_t env) const {
  if (sources_.environments == nullptr) return false;
  const std::vector<uint32_t> all = sources_.environments();
  return std::find(all.begin(), all.end(), env) != all.end();
}

std::string RequestHandler::heap(const Request& request, uint64_t client, pid_t pid) {
  const uint64_t env = request.number("thread", 0);
  if (!has_environment(env) || sources_.wake == nullptr) return error_answer("the thread has ended");
  std::string refusal;
  Descriptor snapshot = open_of(pid, request.number("fd", 0), &refusal);
  if (!snapshot) return error_answer(refusal);
  Descriptor facts = open_of(pid, request.number("facts", 0), &refusal);
  if (!facts) return error_answer(refusal);
  if (!process_heap_requests().ask(static_cast<uint32_t>(env), client, std::move(snapshot), std::move(facts)))
    return error_answer("another leak-audit is already waiting for this heap");
  sources_.wake();
  return "{\"ok\":true}";
}

std::string RequestHandler::heap_state(const Request& request) const {
  const uint64_t env = request.number("thread", 0);
  const HeapRequests::Progress progress = process_heap_requests().take_progress(static_cast<uint32_t>(env));
  if (progress.state == HeapRequests::Progress::Failed) return error_answer(progress.error);
  if (progress.state == HeapRequests::Progress::None) return error_answer("the thread has ended");
  const char* const state = progress.state == HeapRequests::Progress::Waiting   ? "waiting"
                            : progress.state == HeapRequests::Progress::Writing ? "writing"
                                                                                : "done";
  return "{\"ok\":true,\"state\":\"" + std::string(state) + "\"," +
         field("pausedMs", static_cast<uint64_t>(progress.paused_ms)) + "}";
}

void RequestHandler::end(const char* reason) noexcept {
  stop(reason);
  client_to_notify_ = client_;
  attached_ = false;
  deadline_ms_ = INT64_MAX;
}

void RequestHandler::client_closed(uint64_t client) noexcept {
  process_heap_requests().forget_client(client);
  if (client_to_notify_ == client) client_to_notify_ = 0;
  if (!is_recording_of(client)) return;
  if (!keep_) end("abandoned");
  client_ = client_to_notify_ = 0;
}

int64_t RequestHandler::deadline() const noexcept { return attached_ ? deadline_ms_ : INT64_MAX; }

void RequestHandler::at_deadline() noexcept {
  if (attached_ && steady_ms() >= deadline_ms_) end("detached");
}

uint64_t RequestHandler::take_client_to_notify() noexcept {
  if (attached_ && !audit::recording()) end("exit");  // the process is exiting
  const uint64_t client = client_to_notify_;
  client_to_notify_ = 0;
  return client;
}

}  // namespace ltn::audit
