#include "native/exports/known_stacks.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "native/audit/audit.h"
#include "native/v8/symbols.h"

namespace ltn::audit {

namespace {

// v8::RegisterState and the beginning of v8::SampleInfo, as v8-unwinder.h of Node 20 to 26 declares them. V8 writes
// less than `unused`.
struct Registers {
  void* pc = nullptr;
  void* sp = nullptr;
  void* fp = nullptr;
  void* lr = nullptr;
  void* callee_saved = nullptr;
};
struct Sample {
  size_t frames = 0;
  void* unused[31] = {};
};

// v8::GCType.
constexpr int kScavenge = 1;
constexpr int kAllCollections = 0x1F;

// V8's functions by symbol name, as in source_maps.cpp. The first walks the stack for profilers, which takes far less
// than call-site objects with their positions (bench/PROFILES.md).
struct SampleFunctions {
  using Collected = void (*)(void* isolate, int type, int flags);
  void (*stack_sample)(void* isolate, const Registers* state, void** frames, size_t limit, Sample* sample) = nullptr;
  void (*add_epilogue)(void* isolate, Collected collected, int types) = nullptr;
  CurrentIsolate current_isolate = nullptr;
  bool (*runs_microtasks)(void* isolate) = nullptr;

  SampleFunctions() noexcept {
    find_in_v8(&stack_sample, "_ZN2v87Isolate14GetStackSampleERKNS_13RegisterStateEPPvmPNS_10SampleInfoE");
    find_in_v8(&add_epilogue, "_ZN2v87Isolate21AddGCEpilogueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEES2_");
    find_in_v8(&current_isolate);
    find_in_v8(&runs_microtasks, "_ZN2v815MicrotasksScope19IsRunningMicrotasksEPNS_7IsolateE");
  }
  bool complete() const noexcept {
    return stack_sample != nullptr && add_epilogue != nullptr && current_isolate != nullptr &&
           runs_microtasks != nullptr;
  }
};

const SampleFunctions& sample_functions() noexcept {
  static const SampleFunctions functions;
  return functions;
}

// The collections of all threads after which code may be elsewhere, or other code at its address.
std::atomic<uint64_t> collections{0};

void note_collected(void*, int type, int) noexcept {
  if (type != kScavenge) collections.fetch_add(1, std::memory_order_relaxed);
}

// Counts the collections of this thread from now on. Once: V8 takes the same callback again, and calls it as often. A
// thread may have several environments (Jest loads the library many times), but has one isolate.
void count_collections() noexcept {
  thread_local bool counts = false;
  if (std::exchange(counts, true)) return;
  sample_functions().add_epilogue(sample_functions().current_isolate(), &note_collected, kAllCollections);
}

// Whether one set of addresses stood for two sites: addresses are no longer used.
std::atomic<bool> is_ambiguous{false};

// More than the deepest stacks that are recorded, with the frames of this library and of V8's builtins.
constexpr size_t kMaxFrames = 64;
constexpr size_t kMaxStacks = 65'536;
// A known stack is captured again at its first uses and at one of so many later ones, to compare its site.
constexpr uint32_t kFirstChecks = 2, kUsesPerCheck = 256;
// If less than a quarter of so many stacks is known, the next ones are not looked up: those of async code whose waiting
// functions are not known never are.
constexpr uint32_t kTries = 256, kRest = 2048;

// Lifetime: that of its environment, whose cleanup hook deletes it. Thread: the environment's.
class KnownStacks {
 public:
  explicit KnownStacks(uint32_t env_number) : env_number_(env_number) {}
  KnownStacks(const KnownStacks&) = delete;
  KnownStacks& operator=(const KnownStacks&) = delete;

  uint32_t env_number() const noexcept { return env_number_; }
  uint64_t recognized() const noexcept { return recognized_; }

  // The site of the running stack, of which `depth` frames are recorded; 0: unknown, or to be captured again. `waiting`
  // stands for the functions that wait for it; 0: they are not known.
  // `copy` is the caller's copy of the library, which numbers sites by itself.
  uint32_t find(int depth, uint32_t waiting, uint32_t copy) {
    pending_ = 0;
    if (is_ambiguous.load(std::memory_order_relaxed) || !sample_functions().complete()) return 0;
    if (resting_ > 0) {
      --resting_;
      return 0;
    }
    count_collections();
    forget_moved();
    const uint64_t addresses = hash_of_stack(mixed(static_cast<uint64_t>(depth), copy));
    if (addresses == 0) return 0;
    auto at = stacks_.find(addresses);
    if (at == stacks_.end() && waiting != 0) at = stacks_.find(key_of(addresses, waiting));
    const bool is_known = at != stacks_.end();
    count_try(is_known);
    if (is_known && ++at->second.uses > kFirstChecks && at->second.uses % kUsesPerCheck != 0) {
      ++recognized_;
      return at->second.site;
    }
    pending_ = addresses;
    return 0;
  }

  // The site of the stack that the last find() did not give, which its addresses determine together with `waiting`.
  void remember(uint32_t site, uint32_t waiting) {
    if (pending_ == 0 || collections_ != collections.load(std::memory_order_relaxed)) return;
    if (stacks_.size() >= kMaxStacks) stacks_.clear();
    const auto [at, is_new] = stacks_.try_emplace(key_of(pending_, waiting), Known{site, 0});
    if (!is_new && at->second.site != site) is_ambiguous.store(true);
    pending_ = 0;
  }

 private:
  struct Known {
    uint32_t site;
    uint32_t uses;
  };

  void forget_moved() {
    const uint64_t now = collections.load(std::memory_order_relaxed);
    if (now == collections_) return;
    collections_ = now;
    stacks_.clear();
  }

  void count_try(bool is_known) noexcept {
    if (is_known) ++hits_;
    if (++tries_ < kTries) return;
    if (hits_ < kTries / 4) resting_ = kRest;
    tries_ = hits_ = 0;
  }

  // A hash of the return addresses, in interpreted code of the positions in its bytecode; 0 without any.
  static uint64_t hash_of_stack(uint64_t key) noexcept {
    const SampleFunctions& v8 = sample_functions();
    Registers registers;
    registers.pc = __builtin_return_address(0);
    registers.sp = registers.fp = __builtin_frame_address(0);
    void* frames[kMaxFrames];
    Sample sample;
    v8.stack_sample(v8.current_isolate(), &registers, frames, kMaxFrames, &sample);
    const size_t count = std::min(sample.frames, kMaxFrames);
    if (count == 0) return 0;
    for (size_t i = 0; i < count; ++i) key = mixed(key, reinterpret_cast<uintptr_t>(frames[i]));
    return key;
  }
  static uint64_t key_of(uint64_t addresses, uint32_t waiting) noexcept {
    return waiting == 0 ? addresses : mixed(addresses, waiting);
  }
  static uint64_t mixed(uint64_t key, uint64_t value) noexcept {
    key = (key ^ value) * 0x9E3779B97F4A7C15;
    return key ^ key >> 29;
  }

  const uint32_t env_number_;
  std::unordered_map<uint64_t, Known> stacks_;
  uint64_t collections_ = 0;
  uint64_t pending_ = 0;
  uint64_t recognized_ = 0;
  uint32_t tries_ = 0, hits_ = 0, resting_ = 0;
};

KnownStacks& stacks_of(const Napi::CallbackInfo& info) noexcept { return *static_cast<KnownStacks*>(info.Data()); }

void destroy_stacks(void* stacks) { const std::unique_ptr<KnownStacks> owned(static_cast<KnownStacks*>(stacks)); }

// auditTagKnown(labelId: number, waiting: number, copy: number): boolean. Tags the pending tensors with the site of the
// running stack if it is known.
Napi::Value audit_tag_known(const Napi::CallbackInfo& info) {
  KnownStacks& stacks = stacks_of(info);
  const int frames = depth();
  const uint32_t waiting = info[1].As<Napi::Number>().Uint32Value();
  const uint32_t site = frames > 0 ? stacks.find(frames, waiting, info[2].As<Napi::Number>().Uint32Value()) : 0;
  if (site != 0) tag_pending(stacks.env_number(), site, info[0].As<Napi::Number>().Uint32Value());
  return Napi::Boolean::New(info.Env(), site != 0);
}

// auditKnown(siteId: number, waiting: number): void. The site of the stack that the last auditTagKnown did not know.
void audit_known(const Napi::CallbackInfo& info) {
  const uint32_t waiting = info[1].As<Napi::Number>().Uint32Value();
  stacks_of(info).remember(info[0].As<Napi::Number>().Uint32Value(), waiting);
}

// auditInMicrotask(): boolean
Napi::Value audit_in_microtask(const Napi::CallbackInfo& info) {
  const SampleFunctions& v8 = sample_functions();
  return Napi::Boolean::New(info.Env(), !v8.complete() || v8.runs_microtasks(v8.current_isolate()));
}

// auditRecognized(): number of stacks that were recognized by their addresses, for tests.
Napi::Value audit_recognized(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(stacks_of(info).recognized()));
}

}  // namespace

void export_known_stacks(Napi::Env env, Napi::Object exports, uint32_t env_number) {
  auto stacks = std::make_unique<KnownStacks>(env_number);
  exports.Set("auditTagKnown", Napi::Function::New<audit_tag_known>(env, "auditTagKnown", stacks.get()));
  exports.Set("auditKnown", Napi::Function::New<audit_known>(env, "auditKnown", stacks.get()));
  exports.Set("auditInMicrotask", Napi::Function::New<audit_in_microtask>(env, "auditInMicrotask"));
  exports.Set("auditRecognized", Napi::Function::New<audit_recognized>(env, "auditRecognized", stacks.get()));
  napi_add_env_cleanup_hook(env, &destroy_stacks, stacks.get());
  static_cast<void>(stacks.release());  // owned by the hook
}

}  // namespace ltn::audit
