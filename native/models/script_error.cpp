#include "native/models/script_error.h"

#include <c10/util/Exception.h>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <utility>

#include "native/accounting/cpu_allocator.h"
#include "native/errors/callback_error.h"
#include "native/errors/errors.h"

namespace ltn::models {
namespace {

const char* const kHere = "<--- HERE";

// "code/__torch__.py:12" of the last `File "code/__torch__.py", line 12, in forward`.
std::string place(const std::string& text) {
  const std::string file = "File \"";
  const std::string line = "\", line ";
  const size_t at = text.rfind(file);
  if (at == std::string::npos) return "";
  const size_t middle = text.find(line, at);
  if (middle == std::string::npos) return "";
  const size_t digits = middle + line.size();
  const size_t end = text.find_first_not_of("0123456789", digits);
  return text.substr(at + file.size(), middle - at - file.size()) + ":" +
         text.substr(digits, end == std::string::npos ? end : end - digits);
}

// "/lib/conv.py(459): forward", which traced code has in a traceback instead of its source.
bool is_traced_place(const std::string& line) {
  const size_t end = line.find("): ");
  if (end == std::string::npos || line.find(": ") != end + 1) return false;
  const size_t digits = line.find_last_not_of("0123456789", end - 1);
  return digits != std::string::npos && digits + 1 < end && line[digits] == '(';
}

// Whether a line belongs to a traceback and not to the message after it.
bool is_of_traceback(const std::string& line) {
  return line.empty() || line[0] == ' ' || line.rfind("Traceback of TorchScript", 0) == 0 || is_traced_place(line);
}

// The message after a traceback: from the first line that is not of it. Lines of the source may follow the marker.
std::string after_source(const std::string& text) {
  size_t at = text.find('\n');
  while (at != std::string::npos) {
    const size_t start = at + 1;
    at = text.find('\n', start);
    if (!is_of_traceback(text.substr(start, at == std::string::npos ? at : at - start))) return text.substr(start);
  }
  return "";
}

std::string one_line(std::string text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == std::string::npos) return "";
  text.erase(0, first);
  return text.substr(0, text.find('\n'));
}

// In a catch: rethrows an allocation that failed or was refused, which keeps its class.
void rethrow_memory_error() {
  try {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const accounting::MemoryLimitError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // the caller handles all others
  }
}

}  // namespace

std::string script_message(const std::exception& error) {
  const auto* of_c10 = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_c10 != nullptr ? of_c10->what_without_backtrace() : error.what();
  // The interpreter reports the place first and then the message, the compiler the reverse.
  const size_t traceback = text.find("Traceback of TorchScript");
  size_t source = traceback == std::string::npos ? traceback : text.rfind(kHere);
  if (source == std::string::npos) source = traceback;  // ops that a pass has inserted have no source
  std::string message = source == std::string::npos ? "" : one_line(after_source(text.substr(source)));
  if (message.empty()) message = one_line(text);
  const std::string runtime_error = "RuntimeError: ";
  if (message.rfind(runtime_error, 0) == 0) message.erase(0, runtime_error.size());
  const std::string where = place(text);
  return where.empty() ? message : message + " (at " + where + ")";
}

void throw_script_error() {
  const c10::SourceLocation here{__func__, __FILE__, static_cast<uint32_t>(__LINE__)};
  rethrow_memory_error();
  try {
    throw;
  } catch (const c10::NotImplementedError& error) {
    throw c10::NotImplementedError(here, script_message(error));
  } catch (const std::exception& error) {
    rethrow_callback_error(error.what());
    std::string message = script_message(error);
    // The wording of native/accounting/cpu_allocator.cpp.
    const bool is_memory = message.rfind("cannot allocate ", 0) == 0;
    if (is_memory && message.find("the memory limit is") != std::string::npos) {
      throw accounting::MemoryLimitError(here, std::move(message));
    }
    if (is_memory) throw accounting::ExhaustedError(here, std::move(message));
    throw std::runtime_error(message);
  }
}

void run_or_refuse(const std::string& what, const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    rethrow_memory_error();
    throw CodedError("ERR_TORCH_MODEL", what + ": " + script_message(error));
  }
}

}  // namespace ltn::models
