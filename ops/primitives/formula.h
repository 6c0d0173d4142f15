// What a formula says of itself, for the elementwise kernels of all backends
// (primitives/cpu/loops.h says what a formula may have).
#ifndef PROA_OPS_PRIMITIVES_FORMULA_H_
#define PROA_OPS_PRIMITIVES_FORMULA_H_

#include <tuple>
#include <type_traits>

#include "ops/primitives/cast_value.h"

namespace proa::inline v0::ops {

// What an element of type T is computed in: float16 and bfloat16 in float.
template <class T>
using ComputeType = std::conditional_t<kIsHalf<T>, float, T>;

// Formula with its attributes bound to compute type C.
template <class C, class Formula>
auto BindFormula(const Formula& f) {
  if constexpr (requires { f.template Bind<C>(); }) {
    return f.template Bind<C>();
  } else {
    return f;
  }
}

namespace formula_internal {

template <class C, class Formula, class... Ins>
struct InputTypes {
  template <class>
  using Same = C;
  using type = std::tuple<Same<Ins>...>;
};
template <class C, class Formula, class... Ins>
requires requires { typename Formula::template InputTypes<C>; }
struct InputTypes<C, Formula, Ins...> {
  using type = typename Formula::template InputTypes<C>;
};

}  // namespace formula_internal

// std::tuple of the types that a formula takes for as many inputs as Ins.
template <class C, class Formula, class... Ins>
using FormulaInputs =
    typename formula_internal::InputTypes<C, Formula, Ins...>::type;

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_FORMULA_H_
