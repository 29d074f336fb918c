// What checks before an op cost (codegen/spec/guards): the emitted condition alone, on arguments that it accepts,
// and the op itself. "guard:NAME" and "op:NAME"; serve.h has the protocol.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <map>
#include <string>

#include "emitted_guards.h"
#include "programs.h"
#include "serve.h"

namespace bench::guards {

namespace {

constexpr int kBatch = 1000;  // calls between two readings of the clock

// The compiler must assume that every tensor, list and number may have changed since the call before.
template <class Value>
void forget_one(const Value& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class... Values>
void forget(const Values&... values) {
  (forget_one(values), ...);
}

template <class Guard, class... Arguments>
Loop checks(const Arguments&... arguments) {
  return [arguments...] {
    for (int i = 0; i < kBatch; ++i) {
      forget(arguments...);
      Guard::check(arguments...);
    }
  };
}

template <class Op>
Loop calls(Op op) {
  return [op] {
    for (int i = 0; i < kBatch; ++i) forget(op());
  };
}

using Scale = c10::optional<double>;
using MaybeTensor = c10::optional<at::Tensor>;

// A list that owns its numbers and is read as the ops read theirs.
std::vector<int64_t> list(std::initializer_list<int64_t> numbers) { return numbers; }

std::map<std::string, Loop> all_loops() {
  std::map<std::string, Loop> loops;
  const auto add = [&](const std::string& name, Loop guard, Loop op) {
    loops["guard:" + name] = std::move(guard);
    loops["op:" + name] = std::move(op);
  };

  const at::Tensor square = at::ones({1, 4, 2, 2});
  add("pixel_shuffle", checks<Guard_pixel_shuffle>(square, int64_t{2}),
      calls([=] { return at::pixel_shuffle(square, 2); }));

  const at::Tensor numbers = at::ones({8});
  const at::Tensor places = at::zeros({1}, at::kLong);
  c10::List<MaybeTensor> indices;
  indices.push_back(MaybeTensor(places));
  add("index", checks<Guard_index_Tensor>(numbers, indices), calls([=] { return at::index(numbers, indices); }));

  add("reflection_pad2d", checks<Guard_reflection_pad2d>(square, list({1, 1, 1, 1})), calls([=] {
        return at::reflection_pad2d(square, {1, 1, 1, 1});
      }));

  const at::Tensor weight = at::ones({10, 3});
  const at::Tensor bags = at::zeros({1}, at::kLong);
  add("embedding_bag",
      checks<Guard_embedding_bag>(weight, places, bags, false, int64_t{0}, false, MaybeTensor(), false),
      calls([=] { return std::get<0>(at::embedding_bag(weight, places, bags)); }));

  const MaybeTensor four = at::ones({4});
  add("native_batch_norm", checks<Guard_native_batch_norm>(square, four, four, four, four, false, 0.1, 1e-5),
      calls([=] { return std::get<0>(at::native_batch_norm(square, four, four, four, four, false, 0.1, 1e-5)); }));

  add("upsample_bilinear2d", checks<Guard_upsample_bilinear2d>(square, list({4, 4}), false, Scale(2.0), Scale(2.0)),
      calls([=] {
        return at::upsample_bilinear2d(square, {4, 4}, false, 2.0, 2.0);
      }));

  const at::Tensor rows = at::ones({1, 2});
  const at::Tensor gates = at::ones({8, 2});
  const std::vector<at::Tensor> state{rows, rows};
  add("lstm_cell", checks<Guard_lstm_cell>(rows, state, gates, gates, MaybeTensor(), MaybeTensor()),
      calls([=] { return std::get<0>(at::lstm_cell(rows, state, gates, gates)); }));

  const auto remainder = [&](const std::string& name, const at::Tensor& self, const at::Tensor& other) {
    add(name, checks<Guard_remainder_Tensor>(self, other), calls([=] { return at::remainder(self, other); }));
  };
  remainder("remainder of float32", at::ones({1}), at::ones({1}));
  remainder("remainder of int64", at::ones({1}, at::kLong), at::ones({1}, at::kLong));
  remainder("remainder of 1,000 int64", at::ones({1000}, at::kLong), at::ones({1000}, at::kLong));

  const at::Tensor pooled = at::ones({1, 1, 1});
  const at::Tensor from = at::ones({1, 2, 2});
  const at::Tensor where = at::zeros({1, 1, 1}, at::kLong);
  add("max_pool2d_with_indices_backward",
      checks<Guard_max_pool2d_with_indices_backward>(pooled, from, list({2, 2}), list({2, 2}), list({0, 0}),
                                                     list({1, 1}), false, where),
      calls([=] {
        return at::max_pool2d_with_indices_backward(pooled, from, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, where);
      }));
  return loops;
}

}  // namespace

int run(int, char**) {
  at::set_num_threads(1);
  const std::map<std::string, Loop> loops = all_loops();
  std::string kind;
  std::string name;
  double milliseconds = 0;
  // A name has spaces: "guard MILLISECONDS NAME".
  while (std::cin >> kind >> milliseconds && std::getline(std::cin >> std::ws, name)) {
    const auto found = loops.find(kind + ":" + name);
    if (found == loops.end()) {
      std::fprintf(stderr, "no such guard: %s\n", name.c_str());
      return 2;
    }
    const Cost cost = measure(found->second, kBatch, milliseconds);
    std::printf("{\"ns\": %.2f, \"cpu\": %.2f}\n", cost.ns, cost.cpu);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace bench::guards
