#include "native/exports/audit.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "native/audit/attach.h"
#include "native/audit/audit.h"
#include "native/audit/capture_file.h"
#include "native/audit/heap_requests.h"
#include "native/audit/rank.h"
#include "native/audit/running.h"
#include "native/exports/audit_follow.h"
#include "native/exports/known_stacks.h"
#include "native/exports/source_maps.h"
#include "native/handles/slot_table.h"

namespace ltn::audit {

namespace {

// Process-wide, set once by the addon.
std::atomic<const Sources*> process_sources{nullptr};

Sources sources() noexcept {
  const Sources* given = process_sources.load();
  Sources all = given == nullptr ? Sources{} : *given;
  all.wait_until_notified = &wait_until_notified;
  all.environments = &followed_environments;
  all.wake = &wake_followers;
  return all;
}

std::string text_of(const Napi::Object& options, const char* key) {
  const Napi::Value value = options.Get(key);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

uint64_t number_of(const Napi::Object& options, const char* key, uint64_t fallback) {
  const Napi::Value value = options.Get(key);
  if (!value.IsNumber()) return fallback;
  const double number = value.As<Napi::Number>().DoubleValue();
  return number >= 1 ? static_cast<uint64_t>(number) : fallback;
}

// Longest interval: a killed program loses at most this much of its capture.
constexpr uint64_t kMaxIntervalMs = 1000;

// auditStart({ file, mode, intervalMs, sampleBytes, depth, command, maxBytes }): string | undefined, the reason for a
// failure; '' when the capture has an owner.
Napi::Value audit_start(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsObject()) {
    throw Napi::TypeError::New(env, "auditStart: expected an options object");
  }
  const auto given = info[0].As<Napi::Object>();
  Options options;
  options.path = text_of(given, "file");
  const std::string mode = text_of(given, "mode");
  options.mode = mode == "counters" ? Options::Counters : mode == "sample" ? Options::Sample : Options::Full;
  options.interval_ms = std::min(number_of(given, "intervalMs", options.interval_ms), kMaxIntervalMs);
  options.sample_bytes = number_of(given, "sampleBytes", options.sample_bytes);
  options.adapt_distance = number_of(given, "adaptDistance", 0) != 0;
  options.depth = static_cast<int>(number_of(given, "depth", 16));
  options.command = text_of(given, "command");
  options.max_bytes = number_of(given, "maxBytes", 0);
  options.totals = sources().totals;
  std::string why_not;
  bool taken = false;
  if (start(options, &why_not, &taken)) return env.Undefined();
  return Napi::String::New(env, taken ? "" : why_not);
}

// auditStop(reason?: string): void
void audit_stop(const Napi::CallbackInfo& info) {
  const bool given = info.Length() > 0 && info[0].IsString();
  const std::string reason = given ? info[0].As<Napi::String>().Utf8Value() : "stopped";
  stop(reason.c_str());
}

// auditDepth(): number, the frames per stack; 0 while no capture runs.
Napi::Value audit_depth(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), depth()); }

// auditNumber(): number, of the capture that runs; 0 without one.
Napi::Value audit_number(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), running_number()); }

// auditRecordsAll(): boolean, whether a capture records every tensor.
Napi::Value audit_records_all(const Napi::CallbackInfo& info) { return Napi::Boolean::New(info.Env(), records_all()); }

// auditListen(variable: string | undefined, isMainThread: boolean): string | undefined, the reason for a failure, once.
// Listens for `leak-audit attach` and similar. `variable`: LIBTORCH_NODE_ATTACH in this environment.
Napi::Value audit_listen(const Napi::CallbackInfo& info) {
  const std::string variable = info[0].IsString() ? info[0].As<Napi::String>().Utf8Value() : std::string();
  const bool is_main_thread = info[1].IsBoolean() && info[1].As<Napi::Boolean>().Value();
  const std::string why_not = listen_to_leak_audit(sources(), variable, is_main_thread);
  return why_not.empty() ? info.Env().Undefined() : Napi::String::New(info.Env(), why_not);
}

// auditMark(name: string): boolean
Napi::Value audit_mark(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), mark(info[0].As<Napi::String>().Utf8Value()));
}

// auditTag(siteId: number, labelId?: number): void, for the calling environment. The caller resets its flag.
void audit_tag(const Napi::CallbackInfo& info) {
  const auto env_number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info.Data()));
  const uint32_t label = info.Length() > 1 ? info[1].As<Napi::Number>().Uint32Value() : 0;
  tag_pending(env_number, info[0].As<Napi::Number>().Uint32Value(), label);
}

// auditDefineLabel(json: string): number
Napi::Value audit_define_label(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), define_label(info[0].As<Napi::String>().Utf8Value()));
}

// auditJoined(rank: number, worldSize: number): void
void audit_joined(const Napi::CallbackInfo& info) {
  learn_rank(info[0].As<Napi::Number>().Int64Value(), info[1].As<Napi::Number>().Int64Value());
}

// auditFlagLoss(file: string): void; flags the capture of another process.
void audit_flag_loss(const Napi::CallbackInfo& info) { flag_foreign_loss(info[0].As<Napi::String>().Utf8Value()); }

// auditDefineSite(json: string): number
Napi::Value audit_define_site(const Napi::CallbackInfo& info) {
  const auto env_number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info.Data()));
  return Napi::Number::New(info.Env(), define_site(0, info[0].As<Napi::String>().Utf8Value(), env_number));
}

// auditScope(scope: number, site: number): void; the line that opened a scope, 0 when it ended.
void audit_scope(const Napi::CallbackInfo& info) {
  const auto env_number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info.Data()));
  const auto id = static_cast<handles::ScopeId>(info[0].As<Napi::Number>().DoubleValue());
  scope_opened(env_number, handles::SlotTable::audit_number(id), info[1].As<Napi::Number>().Uint32Value());
}

// auditHeap(heapUsed: number, external: number): void
void audit_heap(const Napi::CallbackInfo& info) {
  note_heap(static_cast<uint64_t>(info[0].As<Napi::Number>().DoubleValue()),
            static_cast<uint64_t>(info[1].As<Napi::Number>().DoubleValue()));
}

// auditCollection(agoMs: number): void, after a full collection of this environment, which began `agoMs` ago.
void audit_collection(const Napi::CallbackInfo& info) {
  const auto env_number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info.Data()));
  note_collection(env_number, info[0].As<Napi::Number>().DoubleValue());
}

// auditLive(): number of live recorded handles.
Napi::Value audit_live(const Napi::CallbackInfo& info) {
  // Exact, since an estimate in `sample` mode misses what is not drawn.
  const bool sampled = sources().totals != nullptr && sampling();
  return Napi::Number::New(info.Env(), static_cast<double>(sampled ? sources().totals().tensors : recorded_live()));
}

// auditTakeHeap(): [snapshot, facts], descriptors of the files that this environment is to write; undefined without a
// request.
Napi::Value audit_take_heap(const Napi::CallbackInfo& info) {
  const auto env_number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info.Data()));
  HeapRequests::Files files;
  if (!process_heap_requests().take(env_number, &files)) return info.Env().Undefined();
  const Napi::Array result = Napi::Array::New(info.Env(), 2);
  result.Set(0u, Napi::Number::New(info.Env(), files.snapshot));
  result.Set(1u, Napi::Number::New(info.Env(), files.facts));
  return result;
}

// auditHeapDone(pausedMs: number, error: string): void
void audit_heap_done(const Napi::CallbackInfo& info) {
  const auto env_number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info.Data()));
  process_heap_requests().done(env_number, info[0].As<Napi::Number>().DoubleValue(),
                               info[1].As<Napi::String>().Utf8Value());
}

}  // namespace

void set_sources(const Sources& sources) noexcept {
  static const Sources* const process_copy = new Sources(sources);
  process_sources.store(process_copy);
}

void export_js(Napi::Env env, Napi::Object exports, uint32_t env_number) {
  // The number is passed as the functions' data pointer: no allocation to manage.
  void* const number = reinterpret_cast<void*>(static_cast<uintptr_t>(env_number));
  // Hooks run last in, first out: this one before the hook of the handles layer, which frees everything and was added
  // first.
  napi_add_env_cleanup_hook(
      env, [](void* data) { environment_closing(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(data))); }, number);
  exports.Set("auditStart", Napi::Function::New<audit_start>(env, "auditStart"));
  exports.Set("auditStop", Napi::Function::New<audit_stop>(env, "auditStop"));
  exports.Set("auditListen", Napi::Function::New<audit_listen>(env, "auditListen"));
  exports.Set("auditMark", Napi::Function::New<audit_mark>(env, "auditMark"));
  export_follow(env, exports, env_number);
  export_source_maps(env, exports);
  export_known_stacks(env, exports, env_number);
  exports.Set("auditDepth", Napi::Function::New<audit_depth>(env, "auditDepth"));
  exports.Set("auditNumber", Napi::Function::New<audit_number>(env, "auditNumber"));
  exports.Set("auditRecordsAll", Napi::Function::New<audit_records_all>(env, "auditRecordsAll"));
  exports.Set("auditTag", Napi::Function::New<audit_tag>(env, "auditTag", number));
  exports.Set("auditDefineSite", Napi::Function::New<audit_define_site>(env, "auditDefineSite", number));
  exports.Set("auditScope", Napi::Function::New<audit_scope>(env, "auditScope", number));
  exports.Set("auditDefineLabel", Napi::Function::New<audit_define_label>(env, "auditDefineLabel"));
  exports.Set("auditJoined", Napi::Function::New<audit_joined>(env, "auditJoined"));
  exports.Set("auditFlagLoss", Napi::Function::New<audit_flag_loss>(env, "auditFlagLoss"));
  exports.Set("auditHeap", Napi::Function::New<audit_heap>(env, "auditHeap"));
  exports.Set("auditCollection", Napi::Function::New<audit_collection>(env, "auditCollection", number));
  exports.Set("auditTakeHeap", Napi::Function::New<audit_take_heap>(env, "auditTakeHeap", number));
  exports.Set("auditHeapDone", Napi::Function::New<audit_heap_done>(env, "auditHeapDone", number));
  exports.Set("auditLive", Napi::Function::New<audit_live>(env, "auditLive"));
}

}  // namespace ltn::audit
