#include "native/exports/source_maps.h"

#include <cstdint>

#include "native/v8/symbols.h"

namespace ltn::audit {

namespace {

struct StackFunctions {
  CurrentIsolate current_isolate = nullptr;
  const void* (*current_stack)(void* isolate, int frames, int options) = nullptr;
  int (*frame_count)(const void* stack) = nullptr;
  const void* (*frame_at)(const void* stack, void* isolate, uint32_t index) = nullptr;
  napi_value (*name)(const void* frame) = nullptr;
  napi_value (*name_or_source_url)(const void* frame) = nullptr;
  napi_value (*source_mapping_url)(const void* frame) = nullptr;

  StackFunctions() noexcept {
    find_in_v8(&current_isolate);
    find_in_v8(&current_stack, "_ZN2v810StackTrace17CurrentStackTraceEPNS_7IsolateEiNS0_17StackTraceOptionsE");
    find_in_v8(&frame_count, "_ZNK2v810StackTrace13GetFrameCountEv");
    find_in_v8(&frame_at, "_ZNK2v810StackTrace8GetFrameEPNS_7IsolateEj");
    find_in_v8(&name, "_ZNK2v810StackFrame13GetScriptNameEv");
    find_in_v8(&name_or_source_url, "_ZNK2v810StackFrame24GetScriptNameOrSourceURLEv");
    find_in_v8(&source_mapping_url, "_ZNK2v810StackFrame25GetScriptSourceMappingURLEv");
  }

  bool complete() const noexcept {
    return current_isolate != nullptr && current_stack != nullptr && frame_count != nullptr && frame_at != nullptr &&
           name != nullptr && name_or_source_url != nullptr && source_mapping_url != nullptr;
  }
};

const StackFunctions& stack_functions() noexcept {
  static const StackFunctions functions;
  return functions;
}

// V8's value may be null.
bool is_same(napi_value text, const Napi::Value& wanted) {
  return text != nullptr && wanted.StrictEquals(Napi::Value(wanted.Env(), text));
}

constexpr int kFrames = 64;
// v8::StackTrace::kDetailed, which each supported V8 takes and none reads.
constexpr int kDetailed = 0x7F;

// sourceMapUrl(script: string): string | undefined. What the running code of the script names as its source map, often
// as `data:` with the whole map. The script must be on the stack, within the nearest 64 frames. A program that compiles
// in memory has the map nowhere else.
Napi::Value source_map_url(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const StackFunctions& v8 = stack_functions();
  if (!v8.complete() || info.Length() < 1 || !info[0].IsString()) return env.Undefined();
  void* const isolate = v8.current_isolate();
  const void* const stack = v8.current_stack(isolate, kFrames, kDetailed);
  if (stack == nullptr) return env.Undefined();
  const int count = v8.frame_count(stack);
  for (int i = 0; i < count; ++i) {
    const void* const frame = v8.frame_at(stack, isolate, static_cast<uint32_t>(i));
    if (frame == nullptr) continue;
    if (!is_same(v8.name(frame), info[0]) && !is_same(v8.name_or_source_url(frame), info[0])) continue;
    const napi_value url = v8.source_mapping_url(frame);
    return url == nullptr ? env.Undefined() : Napi::Value(env, url);
  }
  return env.Undefined();
}

}  // namespace

void export_source_maps(Napi::Env env, Napi::Object exports) {
  exports.Set("sourceMapUrl", Napi::Function::New<source_map_url>(env, "sourceMapUrl"));
}

}  // namespace ltn::audit
