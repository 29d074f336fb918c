// Whether a method of a model changes anything that outlives it: the model's state, or an argument.
#pragma once

namespace torch::jit {
struct Function;
}

namespace ltn::models {

enum class Writes {
  Never,
  InTraining,  // the running statistics of a batch norm
  Always,
};

// Conservative: Always if a value may come from outside the method.
Writes writes_of(torch::jit::Function& function);

}  // namespace ltn::models
