// Stacks of JavaScript that an audit has seen before, by their return addresses.
#pragma once

#include <napi.h>

#include <cstdint>

namespace ltn::audit {

// Adds auditTagKnown, auditKnown and auditRecognized to `exports`; known_stacks.cpp documents them.
void export_known_stacks(Napi::Env env, Napi::Object exports, uint32_t env_number);

}  // namespace ltn::audit
