// The sites of single recorded tensors.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_SITES_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_SITES_H_

#include <cstdint>
#include <string>

namespace ltn::audit {

// The site of a live record of the running capture; 0: unknown. Any thread.
uint32_t site_of(uint32_t record) noexcept;

// Its stack as passed to `define_site`, [{"file":…,"line":…,"column":…,"function":…}]; "" if it is unknown.
std::string site_text(uint32_t site);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_SITES_H_
