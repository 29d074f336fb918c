// The reference: each op from C++, its result freed at once.
// Reads lines "OP MILLISECONDS" and answers each with {"ns": nanoseconds of one call, "cpu": the same in CPU time}, as
// bench/python/ops.py and bench/node/ops.cjs do.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>

namespace {

constexpr int kBatch = 1000;    // calls between two readings of the clock
constexpr int kLongBatch = 20;  // for ops that take tens of microseconds
constexpr int kExpressions = 10;
constexpr int kSteps = 25;  // of four ops each in one expression

using Loop = std::function<void()>;

// The loop is inside, so that the call through std::function happens once per batch.
template <class Op>
Loop repeat(int count, Op op) {
  return [count, op] {
    for (int i = 0; i < count; ++i) op();
  };
}

// CPU time of the process.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Cost {
  double ns, cpu;
};

Cost measure(const Loop& loop, int count, double milliseconds) {
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

// The compiler must not drop a call with an unused result; it cannot drop calls into a shared library anyway.
void run(const at::Tensor& result) { asm volatile("" : : "r"(result.unsafeGetTensorImpl()) : "memory"); }

// 100 small ops that depend on each other, each temporary freed at the end of its line.
at::Tensor expression(const at::Tensor& start, const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  at::Tensor x = start;
  for (int i = 0; i < kSteps; ++i) x = x.mul(a).add(b).sub(c).relu();
  return x;
}

int batch_of(const std::string& op) { return op == "mm" ? kLongBatch : op == "expression" ? kExpressions : kBatch; }

}  // namespace

int main() {
  const char* threads = std::getenv("BENCH_THREADS");
  at::set_num_threads(threads == nullptr ? 1 : std::atoi(threads));
  const at::Tensor a = at::ones({1});
  const at::Tensor b = at::ones({1});
  at::Tensor target = at::zeros({1});
  const at::Tensor m = at::ones({128, 128});
  const at::Tensor small = at::ones({4, 4});
  const at::Tensor half = at::full({4, 4}, 0.5);
  const at::Tensor quarter = at::full({4, 4}, 0.25);
  const std::map<std::string, Loop> loops = {
      {"add", repeat(kBatch, [&] { run(at::add(a, b)); })},
      {"add_", repeat(kBatch, [&] { run(target.add_(b)); })},
      {"view", repeat(kBatch, [&] { run(a.view({1})); })},
      {"empty", repeat(kBatch, [&] { run(at::empty({1})); })},
      {"sum", repeat(kBatch, [&] { run(a.sum()); })},
      {"sum_dim", repeat(kBatch, [&] { run(small.sum({1}, true)); })},
      {"expression", repeat(kExpressions, [&] { run(expression(small, half, small, quarter)); })},
      {"mm", repeat(kLongBatch, [&] { run(at::mm(m, m)); })},
  };
  std::string op;
  double milliseconds = 0;
  while (std::cin >> op >> milliseconds) {
    const auto found = loops.find(op);
    if (found == loops.end()) {
      std::fprintf(stderr, "no such op: %s\n", op.c_str());
      return 2;
    }
    const Cost cost = measure(found->second, batch_of(op), milliseconds);
    std::printf("{\"ns\": %.2f, \"cpu\": %.2f}\n", cost.ns, cost.cpu);
    std::fflush(stdout);
  }
  return 0;
}
