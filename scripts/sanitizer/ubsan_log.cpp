// Linked into the sanitized addon and native tests. GCC's undefined-behaviour runtime cannot set its own log file
// beside the address sanitizer's, because both libraries share the function that sets it. Its report would go to
// stderr, which a test may discard. The runtime calls this function before a report; the function redirects stderr to
// a file in the folder LTN_UBSAN_LOG. The process ends after the report.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) void __ubsan_on_report() {
  const char* folder = std::getenv("LTN_UBSAN_LOG");
  if (folder == nullptr) return;
  char name[4096];
  std::snprintf(name, sizeof(name), "%s/ubsan.%d", folder, static_cast<int>(getpid()));
  const int file = open(name, O_CREAT | O_WRONLY | O_APPEND, 0644);
  if (file < 0) return;
  dup2(file, STDERR_FILENO);
  close(file);
}
