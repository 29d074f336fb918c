// The functions of codegen/spec/classes/Generator.yaml, bound by the ops' invoker.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/Optional.h>

#include <string>

namespace ltn {

at::Generator generator_new(c10::optional<c10::Device> device);
void generator_manual_seed(at::Generator self, int64_t seed);
int64_t generator_seed(at::Generator self);
int64_t generator_initial_seed(at::Generator self);
at::Tensor generator_get_state(at::Generator self);
void generator_set_state(at::Generator self, at::Tensor state);
std::string generator_device(at::Generator self);

}  // namespace ltn
