// Calls of a model's methods from JavaScript, at once or as a step of a strand.
#pragma once

#include "native/async/step.h"
#include "native/convert/call.h"
#include "native/models/model.h"
#include "native/models/values.h"

namespace ltn::models {

// modelCall(model, method, values): the result's flat list (values.h), or the error as a value, because it is the
// method's error and not this function's. While ops are recorded, the call is recorded too and returns nothing.
napi_value call_method(Call& call);

// A recorded call of a model, with one value as the result (values.h). Lifetime and thread: as async::Step.
class ValueStep : public async::Step {
 public:
  using Step::Step;
};

class MethodStep final : public ValueStep {
 public:
  MethodStep(std::shared_ptr<Model> model, const Method& method, async::Strand& strand, torch::jit::Stack values);
  handles::Reach reach() const noexcept override {
    return method_.writes == Writes::Never ? handles::Reach::Arguments : handles::Reach::Everything;
  }
  bool may_write() const noexcept override { return method_.writes != Writes::Never; }

 private:
  void call(torch::jit::Stack* stack) override;

  const std::shared_ptr<Model> model_;
  const Method& method_;
};

// The result of such a step after it has run, as call_method() returns it.
napi_value take_value(Call& call, ValueStep& step);

// Arguments that are results of earlier steps. Throws PendingTensor for one of another strand.
void put_pending(async::Step& step, const FoundTensors& found);

}  // namespace ltn::models
