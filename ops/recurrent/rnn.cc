// Gradients of the gradient of rnn, as formulas over ops: the steps forwards
// and backwards on tensors and the rates at which they change along the
// gradients that came (ops/recurrent/dual.h). Each step is of all samples;
// those that do not run keep their states.
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/recurrent/dual.h"
#include "ops/recurrent/recurrent_infer.h"
#include "ops/recurrent/rnn_ops.h"
#include "ops/recurrent/rnn_sizes.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

struct DualWeights {
  Dual ih, hh, bias_ih, bias_hh;
  Dual hr;  // the value may be undefined
};

struct DualState {
  Dual h, c;
};

// What the backward pass needs of a step.
struct DualStep {
  Tensor runs;  // [N, 1] bool; undefined: all do
  Dual x, before, cell_before;
  std::vector<Dual> gates;  // activations
  Dual hidden;              // GRU: weight_hh h + bias_hh of the last gate
  Dual tanh_cell;           // LSTM
  Dual unprojected;
};

// Of one step: gradients of the sums of gates that come from inputs and state,
// and of what is projected.
struct DualGrads {
  Dual of_inputs, of_state, of_output;
};

Dual Constant(const Tensor& t) { return {t, Tensor()}; }

std::vector<Dual> Parts(const Dual& x, int64_t count) {
  const int64_t axis[] = {1}, size = x.value.size(1) / count;
  std::vector<Dual> parts;
  for (int64_t k = 0; k < count; ++k)
    parts.push_back(Linearly(x, [&](const Tensor& t) {
      const int64_t from[] = {k * size}, to[] = {(k + 1) * size};
      return slice(t, axis, from, to);
    }));
  return parts;
}

// Of the same number of columns or rows each, side by side.
Dual Joined(const std::vector<Dual>& parts, int64_t axis) {
  std::vector<Tensor> values, rates;
  bool any = false;
  for (const Dual& p : parts) {
    values.push_back(p.value);
    any |= p.rate.defined();
  }
  for (const Dual& p : parts)
    rates.push_back(p.rate.defined() ? p.rate
                                     : full_like(p.value, Scalar(0.0)));
  return {concat(values, axis), any ? concat(rates, axis) : Tensor()};
}

Dual OneMinus(const Dual& x) {
  return {subtract(full_like(x.value, Scalar(1.0)), x.value),
          RateBy(x.rate, [](const Tensor& r) { return neg(r); })};
}
// x (1 - x), 1 - x^2.
Dual SigmoidSlope(const Dual& y) { return y * OneMinus(y); }
Dual TanhSlope(const Dual& y) { return OneMinus(y * y); }

Dual Selected(const Tensor& runs, const Dual& x, const Dual& y) {
  return runs.defined() ? Chosen(runs, x, y) : x;
}

// Fills all of `step` but runs, x, before and cell_before; the new state.
DualState Advance(RnnCell cell, const DualWeights& w, DualStep& step) {
  const Dual a = Product(step.x, w.ih, false, true) + w.bias_ih;
  const Dual b = Product(step.before, w.hh, false, true) + w.bias_hh;
  switch (cell) {
    case RnnCell::kLstm: {
      const std::vector<Dual> s = Parts(a + b, 4);
      step.gates = {SigmoidOf(s[0]), SigmoidOf(s[1]), TanhOf(s[2]),
                    SigmoidOf(s[3])};
      const auto& g = step.gates;
      const Dual c = g[1] * step.cell_before + g[0] * g[2];
      step.tanh_cell = TanhOf(c);
      step.unprojected = g[3] * step.tanh_cell;
      return {w.hr.value.defined()
                  ? Product(step.unprojected, w.hr, false, true)
                  : step.unprojected,
              c};
    }
    case RnnCell::kGru: {
      const std::vector<Dual> x = Parts(a, 3), h = Parts(b, 3);
      const Dual r = SigmoidOf(x[0] + h[0]), z = SigmoidOf(x[1] + h[1]);
      step.hidden = h[2];
      step.gates = {r, z, TanhOf(x[2] + r * h[2])};
      return {(step.before - step.gates[2]) * z + step.gates[2], {}};
    }
    default:
      step.gates = {cell == RnnCell::kRelu ? ReluOf(a + b) : TanhOf(a + b)};
      return {step.gates[0], {}};
  }
}

// `d`: gradients of the new state; become those of the old one, but for what
// goes through the product with weight_hh.
DualGrads Retreat(RnnCell cell, const DualWeights& w, const DualStep& step,
                  DualState& d) {
  DualGrads out;
  const auto& g = step.gates;
  switch (cell) {
    case RnnCell::kLstm: {
      out.of_output = d.h;
      const Dual dh = w.hr.value.defined() ? Product(d.h, w.hr) : d.h;
      const Dual dc = d.c + dh * g[3] * TanhSlope(step.tanh_cell);
      out.of_inputs = Joined({dc * g[2] * SigmoidSlope(g[0]),
                              dc * step.cell_before * SigmoidSlope(g[1]),
                              dc * g[0] * TanhSlope(g[2]),
                              dh * step.tanh_cell * SigmoidSlope(g[3])},
                             1);
      out.of_state = out.of_inputs;
      d.c = dc * g[1];
      d.h = Constant(full_like(d.h.value, Scalar(0.0)));
      return out;
    }
    case RnnCell::kGru: {
      const Dual dn = d.h * OneMinus(g[1]) * TanhSlope(g[2]);
      const Dual dr = dn * step.hidden * SigmoidSlope(g[0]);
      const Dual dz = d.h * (step.before - g[2]) * SigmoidSlope(g[1]);
      out.of_inputs = Joined({dr, dz, dn}, 1);
      out.of_state = Joined({dr, dz, dn * g[0]}, 1);
      d.h = d.h * g[1];
      return out;
    }
    default:
      out.of_inputs = out.of_state = cell == RnnCell::kRelu
                                         ? WherePositive(d.h, g[0].value)
                                         : d.h * TanhSlope(g[0]);
      d.h = Constant(full_like(d.h.value, Scalar(0.0)));
      return out;
  }
}

// Zeros of the sizes of `shape`, in the dtype of x.
Tensor Zeros(const Tensor& x, const Shape& shape) {
  return full(IntArray(shape), Scalar(0.0), x.dtype(), x.place());
}

Tensor RateOrZeros(const Dual& x) {
  return x.rate.defined() ? x.rate : full_like(x.value, Scalar(0.0));
}

// The rate of A^T B over all rows, of lists of their parts.
Tensor RateOfProduct(const std::vector<Dual>& a, const std::vector<Dual>& b) {
  return RateOrZeros(Product(Joined(a, 0), Joined(b, 0), true));
}
Tensor RateOfSum(const std::vector<Dual>& a) {
  const int64_t rows[] = {0};
  return sum(RateOrZeros(Joined(a, 0)), rows);
}

// Bool [N, 1] for each step; empty without lengths.
std::vector<Tensor> Running(const Tensor& lengths, int64_t steps) {
  std::vector<Tensor> runs;
  if (!lengths.defined()) return runs;
  const int64_t column[] = {1};
  const Tensor count = unsqueeze(cast(lengths, DType::kInt64), column);
  for (int64_t t = 0; t < steps; ++t)
    runs.push_back(
        greater_than(count, full(IntArray(), Scalar(t), DType::kInt64)));
  return runs;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor,
           Tensor, Tensor, Tensor>
RnnGradGrad(const Tensor& grad_x, const Tensor& grad_weight_ih,
            const Tensor& grad_weight_hh, const Tensor& grad_bias_ih,
            const Tensor& grad_bias_hh, const Tensor& grad_weight_hr,
            const Tensor& grad_h0, const Tensor& grad_c0,
            const Tensor& grad_out, const Tensor& grad_h, const Tensor& grad_c,
            const Tensor& x, const Tensor& weight_ih, const Tensor& weight_hh,
            const Tensor& bias_ih, const Tensor& bias_hh,
            const Tensor& weight_hr, const Tensor& h0, const Tensor& c0,
            const Tensor& lengths, std::string_view mode, bool reverse,
            bool time_major) {
  const char* const op = "rnn_grad_grad";
  infer::rnn_grad(op, grad_out, grad_h, grad_c, x, weight_ih, weight_hh,
                  bias_ih, bias_hh, weight_hr, h0, c0, lengths, Tensor(), mode,
                  time_major);
  const RnnCell cell = RnnCellOf(op, mode);
  const bool lstm = cell == RnnCell::kLstm;
  const auto require = [&](const char* name, const Tensor& t,
                           const Shape& shape) {
    if (!IsFloat(t.dtype()))
      ThrowTypeError(absl::StrCat(
          op, ": ", name, " must be a float tensor; it is ", Describe(t)));
    PROA_REQUIRE(shape.known() && t.shape() == shape, op, ": ", name,
                 " must be ", ToString(shape), ", which must be known; it is ",
                 Describe(t));
  };
  const Shape state = infer::rnn_state(op, x, weight_hh, weight_hr, time_major);
  const Shape cell_state =
      infer::rnn_cell_state(op, x, weight_ih, mode, time_major);
  require("grad_x", grad_x, x.shape());
  require("grad_weight_ih", grad_weight_ih, weight_ih.shape());
  require("grad_weight_hh", grad_weight_hh, weight_hh.shape());
  require("grad_bias_ih", grad_bias_ih, infer::rnn_bias(op, weight_ih));
  require("grad_bias_hh", grad_bias_hh, infer::rnn_bias(op, weight_ih));
  require("grad_weight_hr", grad_weight_hr,
          infer::rnn_projection(op, weight_hr));
  require("grad_h0", grad_h0, state);
  require("grad_c0", grad_c0, cell_state);

  // What is not given is zero, and has a gradient too.
  const auto given = [&](const Tensor& t, const Tensor& rate) {
    return Dual{t.defined() ? t : full_like(rate, Scalar(0.0)), rate};
  };
  const DualWeights w{{weight_ih, grad_weight_ih},
                      {weight_hh, grad_weight_hh},
                      given(bias_ih, grad_bias_ih),
                      given(bias_hh, grad_bias_hh),
                      {weight_hr, grad_weight_hr}};
  DualState now{given(h0, grad_h0), given(c0, grad_c0)};
  const int axis = time_major ? 0 : 1;
  const int64_t steps = x.size(axis);
  const std::vector<Tensor> runs = Running(lengths, steps);
  const std::vector<Tensor> values = unbind(x, axis),
                            rates = unbind(grad_x, axis),
                            of_outs = unbind(grad_out, axis);
  const Tensor no_output = Zeros(x, state);

  // Forwards.
  std::vector<DualStep> kept(steps);
  std::vector<Tensor> of_grad_out(steps);
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t t = reverse ? steps - 1 - s : s;
    DualStep& step = kept[t];
    if (!runs.empty()) step.runs = runs[t];
    const Tensor zero = full_like(values[t], Scalar(0.0));
    step.x = Selected(step.runs, {values[t], rates[t]}, {zero, zero});
    step.before = now.h;
    step.cell_before = now.c;
    const DualState next = Advance(cell, w, step);
    of_grad_out[t] =
        RateOrZeros(Selected(step.runs, next.h, Constant(no_output)));
    now.h = Selected(step.runs, next.h, now.h);
    if (lstm) now.c = Selected(step.runs, next.c, now.c);
  }
  const Tensor of_grad_h = RateOrZeros(now.h);
  const Tensor of_grad_c = lstm ? RateOrZeros(now.c) : Zeros(x, cell_state);

  // Backwards.
  DualState d{Constant(grad_h), Constant(grad_c)};
  std::vector<Dual> of_inputs, of_state, of_output, xs, befores, unprojected;
  std::vector<Tensor> of_x(steps);
  for (int64_t s = steps - 1; s >= 0; --s) {
    const int64_t t = reverse ? steps - 1 - s : s;
    const DualStep& step = kept[t];
    DualState inner{d.h + Constant(of_outs[t]), d.c};
    DualGrads g = Retreat(cell, w, step, inner);
    const auto masked = [&](const Dual& v) {
      return Selected(step.runs, v, Constant(full_like(v.value, Scalar(0.0))));
    };
    of_inputs.push_back(masked(g.of_inputs));
    of_state.push_back(masked(g.of_state));
    if (weight_hr.defined()) {
      of_output.push_back(masked(g.of_output));
      unprojected.push_back(step.unprojected);
    }
    xs.push_back(step.x);
    befores.push_back(step.before);
    inner.h = inner.h + Product(g.of_state, w.hh);
    d.h = Selected(step.runs, inner.h, d.h);
    if (lstm) d.c = Selected(step.runs, inner.c, d.c);
    of_x[t] = RateOrZeros(Product(of_inputs.back(), w.ih));
  }

  const auto empty = [&](const Shape& shape) { return Zeros(x, shape); };
  const Shape bias = infer::rnn_bias(op, weight_ih);
  const Shape hr = infer::rnn_projection(op, weight_hr);
  if (steps == 0)
    return {empty(grad_out.shape()),
            of_grad_h,
            of_grad_c,
            empty(x.shape()),
            empty(weight_ih.shape()),
            empty(weight_hh.shape()),
            empty(bias),
            empty(bias),
            empty(hr),
            RateOrZeros(d.h),
            RateOrZeros(d.c)};
  return {
      stack(of_grad_out, axis),
      of_grad_h,
      of_grad_c,
      stack(of_x, axis),
      RateOfProduct(of_inputs, xs),
      RateOfProduct(of_state, befores),
      RateOfSum(of_inputs),
      RateOfSum(of_state),
      weight_hr.defined() ? RateOfProduct(of_output, unprojected) : empty(hr),
      RateOrZeros(d.h),
      RateOrZeros(d.c)};
}

}  // namespace proa::inline v0::ops
