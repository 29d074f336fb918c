// The source maps that running scripts name.
#pragma once

#include <napi.h>

namespace ltn::audit {

// Adds sourceMapUrl(script) to `exports`; source_maps.cpp documents it.
void export_source_maps(Napi::Env env, Napi::Object exports);

}  // namespace ltn::audit
