// One template per C++ signature: ops with the same signature share the code; the table row carries the function
// pointer.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "native/convert/from_js.h"
#include "native/convert/to_js.h"
#include "native/env/free_memory.h"
#include "native/ops/operator_of.h"
#include "native/ops/record.h"

namespace ltn {

// A result by reference is an argument that the op wrote to: JavaScript already has it.
template <class R>
constexpr bool returns_its_argument = std::is_reference_v<R>;
template <class... T>
constexpr bool returns_its_argument<std::tuple<T&...>> = true;

template <class Signature>
struct Invoker;

template <class R, class... A>
struct Invoker<R(A...)> {
  static napi_value call(napi_env env, napi_callback_info info) {
    napi_value arguments[sizeof...(A) == 0 ? 1 : sizeof...(A)];
    return run_guarded(env, info, arguments, sizeof...(A), &body);
  }

 private:
  static napi_value body(Call& c) {
    if (__builtin_expect(c.state.flags().recording != handles::Flags::kOff, 0) && is_recorded(c)) return record(c);
    return convert_and_call(c, std::index_sequence_for<A...>{});
  }

  template <size_t... I>
  static napi_value convert_and_call([[maybe_unused]] Call& c, std::index_sequence<I...>) {
    // Braces: converted from left to right, so that the first invalid argument is reported.
    [[maybe_unused]] Holders holders{{FromJs<A>(c, I)}...};
    if (__builtin_expect(c.state.flags().collect == handles::Flags::kBeforeOp, 0) && c.outer == nullptr) {
      scavenge_before_op(c.state);
    }
    if constexpr (std::is_void_v<R> || returns_its_argument<R>) {
      call_below_or_function(c, holders, std::index_sequence<I...>{});
      return nullptr;
    } else {
      if constexpr (std::is_same_v<R, at::Tensor>) {
        return write_result(c, call_below_or_function(c, holders, std::index_sequence<I...>{}));
      } else {
        return to_js(c, call_below_or_function(c, holders, std::index_sequence<I...>{}));
      }
    }
  }
  template <size_t I, class T>
  struct Holder {
    FromJs<T> from;
  };
  template <class Indices>
  struct HoldersOf;
  template <size_t... I>
  struct HoldersOf<std::index_sequence<I...>> : Holder<I, A>... {};
  using Holders = HoldersOf<std::index_sequence_for<A...>>;

  template <size_t... I>
  static R call_function(Call& c, [[maybe_unused]] Holders& holders, std::index_sequence<I...>) {
    const auto function = reinterpret_cast<R (*)(A...)>(c.row->function);
    return function(static_cast<Holder<I, A>&>(holders).from.get()...);
  }

  template <size_t... I>
  static R call_below_or_function(Call& c, [[maybe_unused]] Holders& holders, std::index_sequence<I...> indices) {
    BelowAutograd& how = c.op.below_autograd;
    if (__builtin_expect(how == BelowAutograd::kUnknown, 0)) how = below_autograd_of(*c.row);
    if (how == BelowAutograd::kNever) return call_function(c, holders, indices);
    if (how == BelowAutograd::kFactory) {
      const at::AutoDispatchBelowADInplaceOrView guard;
      return call_function(c, holders, indices);
    }
    GradientFree call;
    (call.add(static_cast<Holder<I, A>&>(holders).from.get()), ...);
    if (!call.holds()) return call_function(c, holders, indices);
    return call_below_autograd(how, [&](c10::DispatchKeySet keys) -> R {
      const auto redispatch = reinterpret_cast<R (*)(c10::DispatchKeySet, A...)>(c.row->redispatch);
      return redispatch(keys, static_cast<Holder<I, A>&>(holders).from.get()...);
    });
  }
};

}  // namespace ltn
