// Pieces of JavaScript text that the emitters share.
#pragma once

#include <string>

#include "codegen/model/schema.h"

namespace codegen {

// A JS string literal in single quotes.
std::string js_string(const std::string& text);

// A default as a JSON literal: null, true, 1, 0.5, "mean", [1, 2], "int64".
std::string default_json(const Default& value);

// The signature that lib/call/signature.ts decodes: arguments separated by '|', each "<flags><name> <type code>[
// <default>]" with flags '*' keyword-only, '>' out, '!' written to, '~' rest arguments; then a separate '>' and the
// returns:
// "<type code>[ <name>]", or "@<index>" for a returned argument.
// With `number_tensors`, a tensor that may be passed as a number has its own code.
std::string signature_code(const Declaration& declaration, bool number_tensors = false);

}  // namespace codegen
