// The recorder's functions for lib/observe; audit.cpp documents each. auditFollow is in audit_follow.h.
#pragma once

#include <napi.h>

#include <cstdint>

#include "native/audit/audit.h"
#include "native/audit/requests.h"

namespace ltn::audit {

// Readers of the process's figures, for threads without JavaScript. Set once by the addon before the first environment
// exports (accounting is a layer above audit, so audit cannot call it directly).
void set_sources(const Sources& sources) noexcept;

// Adds the audit functions to `exports` of one environment. JS thread of that environment. Call it after the
// environment's own cleanup hook was added, so that the audit's hook runs first.
void export_js(Napi::Env env, Napi::Object exports, uint32_t env_number);

}  // namespace ltn::audit
