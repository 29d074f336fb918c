// The entry of the second addon, which native/distributed/open.cpp loads.
#include "native/c10d/batch_norm.h"
#include "native/c10d/gloo.h"
#include "native/c10d/group.h"
#include "native/c10d/interruption.h"
#include "native/c10d/nccl.h"
#include "native/c10d/reducer.h"
#include "native/c10d/stores.h"
#include "native/c10d/work.h"
#include "native/distributed/library.h"

namespace ltn::c10d_addon {
namespace {

const distributed::Library kLibrary{
    distributed::kStamp, kHasGloo,    kHasNccl,      &tcp_store,         &file_store,          &prefix_store,
    &make_group,         &failure_of, &make_reducer, &verify_parameters, &broadcast_coalesced, &batch_norm,
};

}  // namespace
}  // namespace ltn::c10d_addon

extern "C" __attribute__((visibility("default"))) const ltn::distributed::Library* ltn_distributed_library(
    const ltn::distributed::Interrupts& interrupts) {
  ltn::c10d_addon::set_interrupts(interrupts);
  return &ltn::c10d_addon::kLibrary;
}
