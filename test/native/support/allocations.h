// Allocations that fail, for tests.
#ifndef LIBTORCH_NODE_TEST_NATIVE_SUPPORT_ALLOCATIONS_H_
#define LIBTORCH_NODE_TEST_NATIVE_SUPPORT_ALLOCATIONS_H_

#include <cstdint>

namespace ltn {

// The test program's operator new throws after this many further allocations of the thread; negative: never.
// (libtorch's tensor memory comes from posix_memalign, not from here.) Defined in charge_failure_test.cpp.
extern thread_local int64_t thread_allocations_left;

}  // namespace ltn

#endif  // LIBTORCH_NODE_TEST_NATIVE_SUPPORT_ALLOCATIONS_H_
