// Runs one of the measured programs: `programs NAME ARGUMENT…`.
#include <cstdio>
#include <map>
#include <string>

#include "programs.h"

int main(int argc, char** argv) {
  const std::map<std::string, int (*)(int, char**)> programs = {
      {"guards", bench::guards::run},
      {"ops", bench::ops::run},
      {"peers", bench::peers::run},
      {"train", bench::train::run},
  };
  const auto found = programs.find(argc < 2 ? "" : argv[1]);
  if (found != programs.end()) return found->second(argc - 1, argv + 1);
  std::fprintf(stderr, "usage: programs guards|ops|peers|train ARGUMENT…\n");
  return 2;
}
