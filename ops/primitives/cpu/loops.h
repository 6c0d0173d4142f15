// RunElementwise: an elementwise kernel from a formula. The formula is a struct
// that says what happens to one element, the same on host and device:
//
//   struct Multiply {
//     template <class T> PROA_HD static T Apply(T a, T b) { return a * b; }
//   };
//   RunElementwise<float>(Multiply{}, out, x, y);
//
// T is the type that is computed in, `decltype(Apply(...))` that of the result;
// tensors of other dtypes are converted on the way, block by block. float16 and
// bfloat16 are computed in float and rounded once. A formula may also have
//   members                      attributes of the op, in the schema's order
//   Bind<T>()                    returns the formula to run for type T
//                                converted once instead of for each element
//   InputTypes<T>                std::tuple of input types, where not all are T
//   kCost                        of an element; an addition, the default, is 1
//   Block(const T*..., R*, n)    computes n contiguous elements itself
//   OfLast, WithOfLast           of two inputs: a formula of the last one
//   alone,
//                                and that of both and its result, for a last
//                                input that is broadcast to many more elements
// For use in sources that are compiled once per instruction set.
#ifndef PROA_OPS_PRIMITIVES_CPU_LOOPS_H_
#define PROA_OPS_PRIMITIVES_CPU_LOOPS_H_

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/formula.h"
#include "ops/primitives/host_device.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace loops_internal {

template <class Formula>
constexpr float CostOf() {
  if constexpr (requires { Formula::kCost; }) {
    return Formula::kCost;
  } else {
    return 1;
  }
}

// A bool in memory is a byte, 0 or 1; gcc vectorizes loads of bytes only.
template <class In>
using Memory = std::conditional_t<std::is_same_v<In, bool>, uint8_t, In>;

// The loop over contiguous arrays; `Formula` is bound.
template <class Formula, class Inputs>
struct Loop;

template <class Formula, class... In>
struct Loop<Formula, std::tuple<In...>> {
  using Out =
      decltype(std::declval<const Formula&>().Apply(std::declval<In>()...));
  static constexpr int kOperands = 1 + sizeof...(In);

  PROA_STRAIGHT_LINE static void Run(const void* formula, char* const* data,
                                     int64_t n) {
    // A copy, so that stores to the output cannot change it.
    const Formula f = *static_cast<const Formula*>(formula);
    Out* out = reinterpret_cast<Out*>(data[0]);
    [&]<size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      RunOn(f, out, n, reinterpret_cast<const In*>(data[i + 1])...);
    }
    (std::index_sequence_for<In...>{});
  }

 private:
  __attribute__((always_inline)) static void RunOn(const Formula& f, Out* out,
                                                   int64_t n, const In*... in) {
    if constexpr (requires { f.Block(in..., out, n); }) {
      f.Block(in..., out, n);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        out[i] = f.Apply(
            static_cast<In>(reinterpret_cast<const Memory<In>*>(in)[i])...);
      }
    }
  }
};

}  // namespace loops_internal

template <class T, class Formula, class... Ins>
void RunElementwise(const Formula& formula, Tensor* out, const Ins&... ins) {
  if constexpr (requires { typename Formula::WithOfLast; }) {
    const Tensor& last = std::get<sizeof...(Ins) - 1>(std::tie(ins...));
    if (last.numel() <= out->numel() / 2) {
      Tensor of_last = Tensor::Empty(last.shape(), kDTypeOf<ComputeType<T>>);
      RunElementwise<T>(typename Formula::OfLast{}, &of_last, last);
      return RunElementwise<T>(typename Formula::WithOfLast{}, out, ins...,
                               of_last);
    }
  }
  using C = ComputeType<T>;
  const auto f = BindFormula<C>(formula);
  using Bound = std::remove_const_t<decltype(f)>;
  using Inputs = FormulaInputs<C, Formula, Ins...>;
  using L = loops_internal::Loop<Bound, Inputs>;
  static constexpr ElementwiseLoop kLoop = []<class... In>(std::tuple<In...>*) {
    return ElementwiseLoop{&L::Run,
                           L::kOperands,
                           {kDTypeOf<typename L::Out>, kDTypeOf<In>...},
                           loops_internal::CostOf<Bound>()};
  }(static_cast<Inputs*>(nullptr));
  const Tensor* inputs[] = {&ins...};
  RunBlocks(kLoop, &f, out, inputs);
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_LOOPS_H_
