// The reference: each op from C++, its result freed at once. serve.h has the protocol.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdlib>
#include <map>
#include <string>

#include "programs.h"
#include "serve.h"

namespace bench::ops {

namespace {

constexpr int kBatch = 1000;    // calls between two readings of the clock
constexpr int kLongBatch = 20;  // for ops that take tens of microseconds
constexpr int kExpressions = 10;
constexpr int kSteps = 25;  // of four ops each in one expression

// The loop is inside, so that the call through std::function happens once per batch.
template <class Op>
Loop repeat(int count, Op op) {
  return [count, op] {
    for (int i = 0; i < count; ++i) op();
  };
}

// The compiler must not drop a call with an unused result; it cannot drop calls into a shared library anyway.
void run(const at::Tensor& result) { asm volatile("" : : "r"(result.unsafeGetTensorImpl()) : "memory"); }

// 100 small ops that depend on each other, each temporary freed at the end of its line.
at::Tensor expression(const at::Tensor& start, const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  at::Tensor x = start;
  for (int i = 0; i < kSteps; ++i) x = x.mul(a).add(b).sub(c).relu();
  return x;
}

int batch_of(const std::string& op) {
  return op == "mm" ? kLongBatch : op == "expression" || op == "chain" ? kExpressions : kBatch;
}

}  // namespace

int run(int, char**) {
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
      {"chain", repeat(kExpressions, [&] { run(expression(a, b, a, b)); })},
      {"mm", repeat(kLongBatch, [&] { run(at::mm(m, m)); })},
  };
  return serve([&](const std::string& op) -> Found {
    const auto found = loops.find(op);
    return found == loops.end() ? Found{} : Found{&found->second, batch_of(op)};
  });
}

}  // namespace bench::ops
