// Calls of a model's methods from JavaScript, at once or as a step of a strand.
#pragma once

#include "native/async/step.h"
#include "native/convert/call.h"
#include "native/models/model.h"

namespace ltn::models {

// modelCall(model, method, values): the result's flat list (values.h), or the error as a value, because it is the
// method's and not this function's. While ops are recorded, the call is: then nothing.
napi_value call_method(Call& call);

// A call that was recorded.
// Lifetime and thread: as async::Step.
class MethodStep final : public async::Step {
 public:
  MethodStep(std::shared_ptr<Model> model, const Method& method, async::Strand& strand, torch::jit::Stack values);

 private:
  void call(torch::jit::Stack* stack) override;

  const std::shared_ptr<Model> model_;
  const Method& method_;
};

// The result of a step of that kind that has run, as call_method() gives it.
napi_value take_method_result(Call& call, MethodStep& step);

}  // namespace ltn::models
