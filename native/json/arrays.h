// Arrays of numbers in JSON text (RFC 8259), read without a JavaScript value for each number.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ltn::json {

// An array of numbers, the value of a member of the object.
struct NumberArray {
  size_t name;   // the member: an index into `names`
  size_t begin;  // of the array's text, with its brackets
  size_t end;
  size_t first;  // of its numbers
  size_t count;
};

// What `find_number_arrays` answers.
struct NumberArrays {
  // False: the text is not a JSON object, or one that this reader leaves to a whole parser, as with an escape in a
  // name. If true, the text may still be invalid outside of the arrays if it `has_others`.
  bool is_read = false;
  // Whether the object has members besides those found.
  bool has_others = false;
  std::vector<NumberArray> found;
};

// Finds the members of the object `text` that are called as in `names` and are flat arrays of numbers, and writes their
// numbers to `to`, rounded as JavaScript does it: to a double, and then to a float. A member of another kind, or with a
// number beyond float64, is not found. `room`: how many numbers fit; `text.size() / 2` are always enough. Any thread;
// keeps nothing. `Number`: float or double.
template <class Number>
NumberArrays find_number_arrays(std::string_view text, const std::vector<std::string>& names, Number* to, size_t room);

}  // namespace ltn::json
