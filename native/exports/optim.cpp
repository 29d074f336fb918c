// Steps of optimizers: one call for all parameters of a group.
#include <c10/core/InferenceMode.h>

#include "native/autograd/gradient.h"
#include "native/exports/exports.h"
#include "native/optim/fused.h"
#include "native/optim/steps.h"

namespace ltn {
namespace {

// Reads the rows of a step: handles of a parameter and its state, parameter after parameter. 0 is a tensor that the
// formula does not need.
class Rows {
 public:
  // The arguments 0 and 1 of the call: the handles, and how many of them are used.
  Rows(Call& call, size_t width) : call_(call), width_(width) {
    const Napi::Value value = argument(call, 0);
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array) {
      throw BadArgument(0, "a Float64Array", describe_value(call.env, value));
    }
    const auto array = value.As<Napi::Float64Array>();
    const int64_t count = read_int(call, call.arguments[1], 1);
    if (count < 0 || static_cast<uint64_t>(count) > array.ElementLength() || count % width != 0) {
      throw BadArgument(1, "a count of whole rows in the array", std::to_string(count));
    }
    handles_ = array.Data();
    count_ = static_cast<size_t>(count) / width;
  }

  size_t count() const noexcept { return count_; }
  // Moves to a row. False if its parameter has no gradient.
  bool begin(size_t row) {
    at_ = handles_ + row * width_;
    parameter_ = dense();
    if (!is_fit_) return false;
    grad_ = autograd::gradient_of(parameter_);
    if (grad_.defined() && grad_.layout() != c10::kStrided) is_fit_ = false;
    return is_fit_ && grad_.defined();
  }
  at::Tensor parameter() const { return parameter_; }
  at::Tensor grad() const { return grad_; }
  // The next tensor of the row; undefined for 0 where that may be.
  at::Tensor needed() { return dense(); }
  at::Tensor optional() {
    if (*at_ != 0) return dense();
    ++at_;
    return at::Tensor();
  }
  // False if something is missing, was disposed, does not exist yet or is not dense: then nothing may be changed here.
  bool is_fit() const noexcept { return is_fit_; }

 private:
  at::Tensor dense() {
    const double number = *at_++;
    at::Tensor* found = nullptr;
    if (number > 0 && number < handles::kHandleEnd) {
      found = call_.state.slots().use(static_cast<handles::Handle>(number));
    }
    if (found == nullptr || !found->defined() || found->layout() != c10::kStrided) {
      is_fit_ = false;
      return at::Tensor();
    }
    return *found;
  }

  Call& call_;
  const size_t width_;
  const double* handles_ = nullptr;
  size_t count_ = 0;
  const double* at_ = nullptr;
  at::Tensor parameter_, grad_;
  bool is_fit_ = true;
};

// All rows that have a gradient, which `read` takes. False if one of them is not fit.
template <class Row, class Read>
bool read_all(Call& call, size_t width, const Read& read, std::vector<Row>* all) {
  Rows rows(call, width);
  all->reserve(rows.count());
  for (size_t i = 0; i < rows.count() && rows.is_fit(); ++i) {
    if (rows.begin(i)) all->push_back(read(rows));
  }
  return rows.is_fit();
}

// Takes all rows before the first parameter changes, then makes the steps.
template <class Row, class Options, class Read>
napi_value step_all(Call& call, size_t width, const Options& options, const Read& read) {
  std::vector<Row> all;
  if (!read_all(call, width, read, &all)) return write_bool(call, false);
  const c10::InferenceMode mode;
  for (const Row& row : all) optim::step(row, options);
  return write_bool(call, true);
}

double number(Call& call, size_t index) { return read_double(call, call.arguments[index], index); }
bool flag(Call& call, size_t index) { return read_bool(call, call.arguments[index], index); }

optim::AdamRow read_adam(Rows& rows) {
  return {rows.parameter(), rows.grad(), rows.needed(), rows.needed(), rows.optional(), rows.needed()};
}

napi_value step_adam(Call& call) {
  const optim::AdamOptions options{number(call, 2), number(call, 3), number(call, 4), number(call, 5),
                                   number(call, 6), flag(call, 7),   flag(call, 8),   {flag(call, 9), flag(call, 10)}};
  return step_all<optim::AdamRow>(call, 5, options, &read_adam);
}

napi_value fused_adam(Call& call) {
  const optim::AdamOptions options{number(call, 2), number(call, 3), number(call, 4), number(call, 5),
                                   number(call, 6), flag(call, 7),   flag(call, 8),   {}};
  std::vector<optim::AdamRow> all;
  if (!read_all(call, 5, &read_adam, &all)) return write_bool(call, false);
  const c10::InferenceMode mode;
  return write_bool(call, optim::fused_step(all, options));
}

napi_value step_sgd(Call& call) {
  const optim::SgdOptions options{number(call, 2), number(call, 3), number(call, 4),
                                  number(call, 5), flag(call, 6),   flag(call, 7)};
  return step_all<optim::SgdRow>(call, 2, options, [&](Rows& rows) {
    return optim::SgdRow{rows.parameter(), rows.grad(), options.momentum == 0 ? at::Tensor() : rows.needed()};
  });
}

napi_value step_rmsprop(Call& call) {
  const optim::RmspropOptions options{number(call, 2),
                                      number(call, 3),
                                      number(call, 4),
                                      number(call, 5),
                                      number(call, 6),
                                      flag(call, 7),
                                      {flag(call, 8), flag(call, 9)}};
  return step_all<optim::RmspropRow>(call, 5, options, [&](Rows& rows) {
    return optim::RmspropRow{rows.parameter(), rows.grad(),
                             rows.needed(),    options.momentum > 0 ? rows.needed() : rows.optional(),
                             rows.optional(),  rows.optional()};
  });
}

napi_value step_adagrad(Call& call) {
  const optim::AdagradOptions options{number(call, 2), number(call, 3), number(call, 4), number(call, 5),
                                      flag(call, 6)};
  return step_all<optim::AdagradRow>(call, 3, options, [](Rows& rows) {
    return optim::AdagradRow{rows.parameter(), rows.grad(), rows.needed(), rows.needed()};
  });
}

template <Body body, size_t count>
constexpr Export step_export(const char* name, const char* schema) {
  Export made = exported_body<body, count>(name, schema);
  made.row.name = "optim.step";  // in messages
  return made;
}

const Export kOptimExports[] = {
    step_export<&step_adam, 11>("optimAdam",
                                "optimAdam(Float64Array rows, int count, float lr, float beta1, float beta2, "
                                "float eps, float weightDecay, bool isDecoupled, bool maximize, bool lerps, "
                                "bool rootsByPow) -> bool"),
    step_export<&fused_adam, 9>("optimFusedAdam",
                                "optimFusedAdam(Float64Array rows, int count, float lr, float beta1, float beta2, "
                                "float eps, float weightDecay, bool isDecoupled, bool maximize) -> bool"),
    step_export<&step_sgd, 8>("optimSgd",
                              "optimSgd(Float64Array rows, int count, float lr, float momentum, float dampening, "
                              "float weightDecay, bool nesterov, bool maximize) -> bool"),
    step_export<&step_rmsprop, 10>("optimRmsprop",
                                   "optimRmsprop(Float64Array rows, int count, float lr, float alpha, float eps, "
                                   "float weightDecay, float momentum, bool maximize, bool lerps, bool rootsByPow) "
                                   "-> bool"),
    step_export<&step_adagrad, 7>("optimAdagrad",
                                  "optimAdagrad(Float64Array rows, int count, float lr, float lrDecay, float eps, "
                                  "float weightDecay, bool maximize) -> bool"),
};

}  // namespace

ExportList optim_exports() { return {kOptimExports, std::size(kOptimExports)}; }

}  // namespace ltn
