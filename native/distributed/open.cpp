#include "native/distributed/open.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "native/errors/errors.h"

namespace ltn::distributed {
namespace {

std::mutex process_opening;
std::atomic<const Library*> process_library{nullptr};

[[noreturn]] void refuse(const std::string& why) { throw CodedError("ERR_TORCH_DISTRIBUTED", why); }

}  // namespace

const Library& open_library(const std::string& file, const Interrupts& interrupts) {
  const std::lock_guard<std::mutex> lock(process_opening);
  if (const Library* opened = process_library.load()) return *opened;
  // Never unloaded: threads of Gloo may outlive every environment.
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const why = dlerror();
    refuse(why == nullptr ? "the loader gives no reason" : why);
  }
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kEntry));
  if (entry == nullptr) refuse(file + " is not the second addon of libtorch-node");
  const Library* const found = entry(interrupts);
  if (std::strcmp(found->stamp, kStamp) != 0) {
    refuse(file + " is of another build: expected " + kStamp + ", got " + found->stamp);
  }
  process_library.store(found);
  return *found;
}

const Library& library() {
  const Library* const opened = process_library.load();
  if (opened == nullptr) refuse("the second addon is not loaded");
  return *opened;
}

}  // namespace ltn::distributed
