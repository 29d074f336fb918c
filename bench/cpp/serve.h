// The protocol of the measured programs: reads lines "OP MILLISECONDS" and answers each with {"ns": nanoseconds of one
// call, "cpu": the same in CPU time}, as bench/python and bench/node do.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>

using Loop = std::function<void()>;

// A loop and the number of calls that it makes; null if there is none of the name.
struct Found {
  const Loop* loop = nullptr;
  int count = 1;
};

// CPU time of the process.
inline double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Cost {
  double ns, cpu;
};

inline Cost measure(const Loop& loop, int count, double milliseconds) {
  using Clock = std::chrono::steady_clock;
  const double cpu_start = cpu_ns();
  const auto start = Clock::now();
  const auto limit = std::chrono::duration<double, std::milli>(milliseconds);
  int64_t calls = 0;
  Clock::duration elapsed{};
  do {
    loop();
    calls += count;
    elapsed = Clock::now() - start;
  } while (elapsed < limit);
  const double cpu = cpu_ns() - cpu_start;
  const auto all = static_cast<double>(calls);
  return {std::chrono::duration<double, std::nano>(elapsed).count() / all, cpu / all};
}

template <class Find>
int serve(const Find& find) {
  std::string op;
  double milliseconds = 0;
  while (std::cin >> op >> milliseconds) {
    const Found found = find(op);
    if (found.loop == nullptr) {
      std::fprintf(stderr, "no such op: %s\n", op.c_str());
      return 2;
    }
    const Cost cost = measure(*found.loop, found.count, milliseconds);
    std::printf("{\"ns\": %.2f, \"cpu\": %.2f}\n", cost.ns, cost.cpu);
    std::fflush(stdout);
  }
  return 0;
}
