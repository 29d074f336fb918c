// How the JavaScript of each environment hears that a recording began or ended, whoever did it.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_JS_API_FOLLOW_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_JS_API_FOLLOW_H_

#include <napi.h>

#include <cstdint>
#include <vector>

namespace ltn::audit {

// Adds auditFollow(callback) to `exports`: `callback()` is called on the environment's thread, soon after each begin
// and end, in place of the one before. It keeps no event loop alive.
void export_follow(Napi::Env env, Napi::Object exports, uint32_t env_number);

// The environments with such a callback. Any thread.
std::vector<uint32_t> followed_environments();

// All of them are called soon, as at a begin and an end: they look what is asked of them. Any thread.
void wake_followers();

// Waits until each environment's callback has run since the latest begin or end, at most so long: one that is blocked
// may never come to it. Any thread but those of environments.
void wait_until_told(int64_t most_ms);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_JS_API_FOLLOW_H_
