// Errors about an input file, with the same wording in all tools of the generator.
#pragma once

#include <stdexcept>
#include <string>

namespace codegen {

// A mistake in an input file. what() reads `file:line: error: message, expected …`; tools print it and exit with 1.
class Error : public std::runtime_error {
 public:
  // `line` counts from 1; 0 means the file as a whole. `expected` may be empty.
  Error(std::string file, int line, std::string message, std::string expected = "");

  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::string& message() const { return message_; }
  const std::string& expected() const { return expected_; }

 private:
  std::string file_;
  int line_;
  std::string message_;
  std::string expected_;
};

}  // namespace codegen
