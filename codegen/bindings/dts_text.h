// TypeScript signatures: one overload in all the forms in which it can be called.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/bindings/schema.h"
#include "codegen/bindings/spec.h"

namespace codegen {

// The TypeScript type of an accepted or returned value.
std::string ts_argument(const Type& type);
std::string ts_result(const Type& type);

// The result of an op whose returns have these types.
std::string result_type(const Declaration& declaration, const std::vector<std::string>& types);

struct TypeParameter {
  std::string name;
  std::string constraint;
  std::string fallback;  // what it is when nothing is passed, "" for a required argument
  bool literal = false;  // literals stay: [2, 3] is no number[]
};

struct Parameter {
  std::string name;  // in JavaScript
  std::string type;
  bool optional = false;
  std::string schema_type = {};  // of the argument, before rules
};

// What a caller sees of one overload.
struct CallShape {
  std::vector<TypeParameter> type_parameters;
  std::string receiver;               // the type of `this`, "" where it does not matter
  std::vector<Parameter> positional;  // optional ones last
  std::vector<Parameter> named;       // only in the options object
  std::string result;
  // Names that only other overloads take. Options that are all optional list them as undefined: an editor that
  // completes
  // `{ }` looks at the first overload that fits, which would hide the names of the others.
  std::vector<std::string> elsewhere;
  std::string rest;              // the type of one element, when the last positional list may be given as the rest
  bool spread = false;           // the only positional one is a list that may be given as rest numbers
  std::string spread_result;     // the result with the list as [first, ...rest]
  std::string spread_check;      // what `first` must be as well
  std::string spread_parameter;  // the type parameter of the list
  bool checked = false;          // the types of its arguments are compared with each other
};

// How results are written.
enum class ResultStyle { Function, Method };

// `self` is the index of an argument that is no parameter, -1 for none. Out arguments become the option `out`.
CallShape call_shape(const Declaration& declaration, int self);

// Makes the signature generic as its rule says. An op that hands back an argument returns what it was given.
void apply_rule(CallShape& shape, const TypeRule* rule, const Declaration& declaration, int self, ResultStyle style);

// Whether `out_variant` is `functional` with out arguments added, so that one signature serves both.
bool is_out_variant_of(const Declaration& out_variant, const Declaration& functional);

// Adds the out arguments of a variant as an optional option.
void add_optional_out(CallShape& shape, const Declaration& out_variant);

// A device may also be a string that the compiler does not know; a literal has to name one.
void accept_device_strings(CallShape& shape);

// Which mixtures of positional and named arguments get a signature. Few: by position come all, the required ones, the
// first, or none; this keeps ops that nobody calls by hand from filling the files.
enum class Mixtures { Few, Most };

// "(self: Tensor, other: Tensor, options?: { alpha?: Scalar }): Tensor" and so on: positional first, then with fewer
// and fewer positional arguments and the others by name.
std::vector<std::string> call_forms(const CallShape& shape, Mixtures mixtures);

// The text with another word in the place of each `word`.
std::string with_word(const std::string& text, const std::string& word, const std::string& other);

// How many forms take so many arguments.
size_t forms_taking(const CallShape& shape, size_t count);

// The overload once more, for the compiler, which explains the last form that takes as many arguments as a call has:
// where an options object may stand, it is explained as such, or else the argument by position. `before` is how many
// forms take so many arguments already: of two or three the compiler would explain each.
std::vector<std::string> explaining_forms(const CallShape& shape, const std::vector<const CallShape*>& others,
                                          const std::function<size_t(size_t)>& before);

// The function type of torch.ops: "(self: Tensor, other: Tensor, options?: { alpha?: Scalar }) => Tensor".
std::string raw_function_type(const Declaration& declaration);

// A name as a member of an object type, in quotes where it is no identifier.
std::string member_name(const std::string& name);

}  // namespace codegen
