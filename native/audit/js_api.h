// The recorder's face towards lib/audit.ts: auditStart, auditStop, auditOn, auditListen, auditMark, auditTag,
// auditDefineSite, auditHeap, auditCollection, auditLive; auditFollow is that of js_api_follow.h.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_JS_API_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_JS_API_H_

#include <napi.h>

#include <cstdint>

#include "native/audit/audit.h"
#include "native/audit/requests.h"

namespace ltn::audit {

// Where the process's figures are read from, on threads without JavaScript. Set once by the addon before the first
// environment exports (accounting is above audit, so audit cannot ask it by name).
void set_sources(const Sources& sources) noexcept;

// Adds the audit functions to `exports` of one environment. JS thread of that environment. To be called after the
// environment's own cleanup hook was added, so that the audit's runs before it.
void export_js(Napi::Env env, Napi::Object exports, uint32_t env_number);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_JS_API_H_
