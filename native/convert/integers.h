// Conversion of the elements of JavaScript arrays to an integer dtype: checked and converted in one pass.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>

namespace ltn {

// Meaning of the numbers in an array of doubles. Arrays of floats hold floats, and no unsigned dtype takes a negative
// float. An array that holds the elements of nested arrays has integers: an unsigned dtype takes negative ones down to
// its largest value, as two's complement.
enum class Numbers { kFloats, kAsTheyAre };

// Whether this converts elements of `from` to integers of `to`.
bool makes_integers(c10::ScalarType from, c10::ScalarType to) noexcept;

// Writes `count` elements of `from` as elements of `to`, with fractions cut off. False if one does not fit, by the rule
// of lib/errors/integers.ts, which then finds it; the result must not be used.
bool write_integers(c10::ScalarType from, const void* data, size_t count, Numbers numbers, c10::ScalarType to,
                    void* result) noexcept;

}  // namespace ltn
