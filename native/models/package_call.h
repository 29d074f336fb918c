// Calls of AOTInductor's packages from JavaScript, at once or as a step of a strand.
#pragma once

#include <memory>

#include "native/convert/call.h"
#include "native/handles/holder.h"
#include "native/models/package.h"

namespace ltn::models {

// What stands for a package in the slot table. Its charge is `bytes`, which no tensor has.
// Lifetime: its slot's; calls under way share the package beyond it. Thread: the environment's JS thread.
class PackageToken final : public handles::Holder {
 public:
  PackageToken(std::shared_ptr<Package> package, uint64_t bytes);
  bool refresh(const MayRead&) override { return true; }

  const std::shared_ptr<Package> package;
};

// Throws BadArgument for the handle of anything else, DisposedTensor for a stale one.
const std::shared_ptr<Package>& read_package(Call& call, napi_value value, size_t index);

// packageCall(package, inputs, single): the flat list (values.h) of a list of tensors, or where `single` of the only
// one; or the error as a value, because it is the model's and not this function's. While ops are recorded, the call is:
// then nothing.
napi_value call_package(Call& call);

}  // namespace ltn::models
