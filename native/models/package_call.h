// Calls of AOTInductor packages from JavaScript, immediate or as a step of a strand.
#pragma once

#include <memory>

#include "native/convert/call.h"
#include "native/handles/holder.h"
#include "native/models/package.h"

namespace ltn::models {

// Represents a package in the slot table. It is charged `bytes`, which no tensor has. Lifetime: its slot's; running
// calls share the package beyond it. Thread: the environment's JS thread.
class PackageToken final : public handles::Holder {
 public:
  PackageToken(std::shared_ptr<Package> package, uint64_t bytes);
  bool refresh(const MayRead&) override { return true; }

  const std::shared_ptr<Package> package;
};

// Throws BadArgument for the handle of anything else, DisposedTensor for a stale one.
const std::shared_ptr<Package>& read_package(Call& call, napi_value value, size_t index);

// packageCall(package, inputs, single): the flat list (values.h) of a list of tensors, or with `single` of the only
// one; or the error as a value, because it is the model's error and not this function's. While ops are recorded, the
// call is recorded too and returns nothing.
napi_value call_package(Call& call);

}  // namespace ltn::models
