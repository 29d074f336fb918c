// The calls of c10d for each kind of collective.
#pragma once

#include <functional>

#include "native/c10d/release.h"
#include "native/distributed/library.h"

namespace ltn::c10d_addon {

struct Launched {
  c10::intrusive_ptr<c10d::Work> work;
  // What is left to do once the work has succeeded, on any thread; may be empty.
  std::function<void()> finish;
};

// Starts the collective. Throws what c10d refuses at once.
Launched launch(Backend& backend, distributed::Collective& collective);

}  // namespace ltn::c10d_addon
