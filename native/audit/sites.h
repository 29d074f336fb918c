// Where recorded tensors were made, for those who ask for one of them.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_SITES_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_SITES_H_

#include <cstdint>
#include <string>

namespace ltn::audit {

// The site of a living record of the running capture; 0: none is known. Any thread.
uint32_t site_of(uint32_t record) noexcept;

// Its stack as it was defined, [{"file":…,"line":…,"column":…,"function":…}]; "" for one that is unknown.
std::string site_text(uint32_t site);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_SITES_H_
