#include "codegen/common/diagnostics.h"

#include <utility>

namespace codegen {
namespace {

std::string compose(const std::string& file, int line, const std::string& message, const std::string& expected) {
  std::string text = file;
  if (line > 0) text += ":" + std::to_string(line);
  text += ": error: " + message;
  if (!expected.empty()) text += ", expected " + expected;
  return text;
}

}  // namespace

Error::Error(std::string file, int line, std::string message, std::string expected)
    : std::runtime_error(compose(file, line, message, expected)),
      file_(std::move(file)),
      line_(line),
      message_(std::move(message)),
      expected_(std::move(expected)) {}

}  // namespace codegen
