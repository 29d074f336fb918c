// TypeScript signatures: all the forms in which one overload can be called.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/bindings/dts/types.h"
#include "codegen/bindings/spec/spec.h"
#include "codegen/model/schema.h"

namespace codegen {

// The result of an op whose returns have these types.
std::string result_type(const Declaration& declaration, const std::vector<std::string>& types);

struct TypeParameter {
  std::string name;
  std::string constraint;
  std::string fallback;  // the default when the argument is omitted, "" for a required one
  bool literal = false;  // keeps literals: [2, 3] is not widened to number[]
};

struct Parameter {
  std::string name;  // in JavaScript
  std::string type;
  bool optional = false;
  std::string schema_type = {};  // of the argument, before rules
};

// One overload as a caller sees it.
struct CallShape {
  std::vector<TypeParameter> type_parameters;
  std::string receiver;               // the type of `this`, "" where it does not matter
  std::vector<Parameter> positional;  // optional ones last
  std::vector<Parameter> named;       // only in the options object
  std::string result;
  // Names that only other overloads take. If all options are optional, they include these names as undefined, because
  // an editor completes `{ }` from the first overload that fits, which would hide the names of the others.
  std::vector<std::string> elsewhere;
  std::string rest;              // the type of one element, if the last positional list may be passed as rest arguments
  bool spread = false;           // the only positional parameter is a list that may be passed as rest numbers
  std::string spread_parameter;  // the type parameter of that list, if a rule knows it
  std::string spread_check;      // a further type that the list must satisfy
  int checks = 0;                // how many of its arguments must satisfy a further type
  bool shared = false;           // torch.async has it too, with the option `signal`
};

// How results are written.
enum class ResultStyle { Function, Method };

// `self` is the index of an argument that is not a parameter, or -1. Out arguments become the option `out`.
CallShape call_shape(const Declaration& declaration, int self);

// Makes the signature generic according to its rule. An op that returns an argument returns that argument's type.
void apply_rule(CallShape& shape, const TypeRule* rule, const Declaration& declaration, int self, ResultStyle style);

// Whether `out_variant` is `functional` with out arguments added, so that one signature serves both.
bool is_out_variant_of(const Declaration& out_variant, const Declaration& functional);

// Adds the out arguments of a variant as an optional option.
void add_optional_out(CallShape& shape, const Declaration& out_variant);

// A device may also be a string that the compiler does not know; a literal must name a device.
void accept_device_strings(CallShape& shape);

// The values of string arguments, where types.yaml lists them.
void name_strings(CallShape& shape, const Spec& spec, const Declaration& declaration);

// Which mixtures of positional and named arguments get a signature. Few: all, the required ones, the first or none are
// positional; this keeps the files small for ops that users do not call directly.
enum class Mixtures { Few, Most };

// "(self: Tensor, other: Tensor, options?: { alpha?: Scalar }): Tensor" and so on: positional first, then with fewer
// and fewer positional arguments and the others by name.
std::vector<std::string> call_forms(const CallShape& shape, Mixtures mixtures);

// The text with each `word` replaced by `other`.
std::string with_word(const std::string& text, const std::string& word, const std::string& other);

// How many forms take `count` arguments.
size_t forms_taking(const CallShape& shape, size_t count);

// Repeats the overload for the compiler, which reports errors for the last form with as many parameters as a call has
// arguments: as an options object where that is possible, else as the positional argument. `before` returns how many
// forms take that many arguments already: if there are two or three, the compiler reports an error for each.
std::vector<std::string> explaining_forms(const CallShape& shape, const std::vector<CallShape>& others,
                                          const std::function<size_t(size_t)>& before);

// The function type of torch.ops: "(self: Tensor, other: Tensor, options?: { alpha?: Scalar }) => Tensor".
std::string raw_function_type(const Declaration& declaration);

}  // namespace codegen
