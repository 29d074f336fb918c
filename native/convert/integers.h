// Elements of JavaScript's arrays as those of an integer dtype: looked at and converted in one pass.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>

namespace ltn {

// What the numbers of an array of doubles are. Arrays of floats hold floats, of which no unsigned dtype takes one below
// zero. Where an array holds what stood in nested arrays, integers are integers: an unsigned dtype takes negative ones
// down to its largest value, as two's complement.
enum class Numbers { kFloats, kAsTheyAre };

// Whether integers of `to` are made here of elements of `from`.
bool makes_integers(c10::ScalarType from, c10::ScalarType to) noexcept;

// Writes `count` elements of `from` as elements of `to`, fractions cut off. False when one of them does not fit, by the
// rule of lib/integers.ts, which finds it then; what was written is of no use.
bool write_integers(c10::ScalarType from, const void* data, size_t count, Numbers numbers, c10::ScalarType to,
                    void* result) noexcept;

}  // namespace ltn
