#include "codegen/bindings/emit.h"

namespace codegen {

Files emit_dts(const Plan&) { return {}; }

}  // namespace codegen
