// Notifies the JavaScript of each environment that a recording began or ended, whoever started or stopped it.
#pragma once

#include <napi.h>

#include <cstdint>
#include <vector>

namespace ltn::audit {

// Adds auditFollow(callback) to `exports`: `callback()` is called on the environment's thread soon after each begin and
// end. It replaces the previous callback. It does not keep the event loop alive.
void export_follow(Napi::Env env, Napi::Object exports, uint32_t env_number);

// The environments with such a callback. Any thread.
std::vector<uint32_t> followed_environments();

// Calls all callbacks soon, as after a begin or an end, so that they look for requests. Any thread.
void wake_followers();

// Waits until each environment's callback has run since the latest begin or end, at most `max_ms`: a blocked
// environment may never run it. Any thread except those of environments.
void wait_until_notified(int64_t max_ms);

}  // namespace ltn::audit
