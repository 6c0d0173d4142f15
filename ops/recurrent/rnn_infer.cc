#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/recurrent/recurrent_infer.h"
#include "ops/recurrent/rnn_sizes.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

// Whichever of the two is known.
int64_t Known(int64_t a, int64_t b) { return !IsUnknown(a) ? a : b; }

void Require(const char* op, const char* name, const Tensor& t,
             const Shape& want) {
  if (!t.defined()) return;
  if (!IsFloat(t.dtype()))
    ThrowTypeError(absl::StrCat(
        op, ": ", name, " must be a float tensor; it is ", Describe(t)));
  bool fits = t.rank() == want.rank();
  for (int d = 0; fits && d < want.rank(); ++d)
    fits = !Differ(t.size(d), want[d]);
  PROA_REQUIRE(fits, op, ": ", name, " must be ", ToString(want), "; it is ",
               Describe(t));
}

int64_t Batch(const Tensor& x, bool time_major) {
  return x.size(time_major ? 1 : 0);
}
int64_t Steps(const Tensor& x, bool time_major) {
  return x.size(time_major ? 0 : 1);
}
int64_t Hidden(const Tensor& weight_ih, RnnCell cell) {
  const int64_t rows = weight_ih.size(0);
  return IsUnknown(rows) ? kUnknownDim : rows / Gates(cell);
}

}  // namespace

Shape rnn_out(const char* op, const Tensor& x, const Tensor& weight_ih,
              const Tensor& weight_hh, const Tensor& bias_ih,
              const Tensor& bias_hh, const Tensor& weight_hr, const Tensor& h0,
              const Tensor& c0, const Tensor& lengths, std::string_view mode,
              bool time_major) {
  const RnnCell cell = RnnCellOf(op, mode);
  const bool lstm = cell == RnnCell::kLstm;
  PROA_REQUIRE(x.rank() == 3, op, ": x must be ",
               time_major ? "[T, N, I]" : "[N, T, I]", "; it is ", Describe(x));
  if (!IsFloat(x.dtype()))
    ThrowTypeError(
        absl::StrCat(op, ": x must be a float tensor; it is ", Describe(x)));
  const int64_t batch = Batch(x, time_major), gates = Gates(cell);
  Require(op, "weight_ih", weight_ih, weight_ih.shape());
  PROA_REQUIRE(weight_ih.rank() == 2 && !Differ(weight_ih.size(1), x.size(2)) &&
                   (IsUnknown(weight_ih.size(0)) ||
                    (weight_ih.size(0) > 0 && weight_ih.size(0) % gates == 0)),
               op, ": weight_ih must be [", gates, " H, ", x.size(2), "] for ",
               mode, " of x ", Describe(x), "; it is ", Describe(weight_ih));
  const int64_t rows = weight_ih.size(0), hidden = Hidden(weight_ih, cell);
  int64_t state = hidden;
  if (weight_hr.defined()) {
    PROA_REQUIRE(lstm, op, ": weight_hr is of LSTM only, not of ", mode);
    const int64_t inner =
        weight_hh.rank() == 2 ? weight_hh.size(1) : kUnknownDim;
    Require(op, "weight_hr", weight_hr, {inner, hidden});
    state = Known(weight_hr.size(0), inner);
  }
  Require(op, "weight_hh", weight_hh, {rows, state});
  PROA_REQUIRE(weight_hh.rank() == 2 && weight_hh.size(1) != 0, op,
               ": weight_hh has no columns; it is ", Describe(weight_hh));
  Require(op, "bias_ih", bias_ih, {rows});
  Require(op, "bias_hh", bias_hh, {rows});
  Require(op, "h0", h0, {batch, state});
  PROA_REQUIRE(lstm || !c0.defined(), op, ": c0 is of LSTM only, not of ",
               mode);
  Require(op, "c0", c0, {batch, hidden});
  if (lengths.defined()) {
    if (!IsInteger(lengths.dtype()))
      ThrowTypeError(absl::StrCat(op, ": lengths must be integers; it is ",
                                  Describe(lengths)));
    PROA_REQUIRE(lengths.rank() == 1 && !Differ(lengths.size(0), batch), op,
                 ": lengths must be [", batch, "], as x is ", Describe(x),
                 "; it is ", Describe(lengths));
  }
  return {x.size(0), x.size(1), Known(state, weight_hh.size(1))};
}

Shape rnn_state(const char*, const Tensor& x, const Tensor& weight_hh,
                const Tensor& weight_hr, bool time_major) {
  return {Batch(x, time_major),
          weight_hr.defined() ? Known(weight_hr.size(0), weight_hh.size(1))
                              : weight_hh.size(1)};
}

Shape rnn_cell_state(const char* op, const Tensor& x, const Tensor& weight_ih,
                     std::string_view mode, bool time_major) {
  const RnnCell cell = RnnCellOf(op, mode);
  return {Batch(x, time_major),
          cell == RnnCell::kLstm ? Hidden(weight_ih, cell) : 0};
}

Shape rnn_reserve(const char* op, const Tensor& x, const Tensor& weight_ih,
                  const Tensor& weight_hh, std::string_view mode,
                  bool time_major, bool keep_reserve) {
  if (!keep_reserve) return {Steps(x, time_major), Batch(x, time_major), 0};
  const RnnCell cell = RnnCellOf(op, mode);
  const bool wide =
      x.dtype() == DType::kFloat64 || weight_ih.dtype() == DType::kFloat64;
  const int64_t hidden = Hidden(weight_ih, cell), state = weight_hh.size(1);
  int64_t bytes = kUnknownDim;
  if (!IsUnknown(hidden) && !IsUnknown(state)) {
    PROA_REQUIRE(hidden < int64_t{1} << 40 && state < int64_t{1} << 40, op,
                 ": weights are too large: ", Describe(weight_hh));
    bytes =
        ((Gates(cell) + KeptBesides(cell)) * hidden + state) * (wide ? 8 : 4);
  }
  return {Steps(x, time_major), Batch(x, time_major), bytes};
}

Shape rnn_grad(const char* op, const Tensor& grad_out, const Tensor& grad_h,
               const Tensor& grad_c, const Tensor& x, const Tensor& weight_ih,
               const Tensor& weight_hh, const Tensor& bias_ih,
               const Tensor& bias_hh, const Tensor& weight_hr, const Tensor& h0,
               const Tensor& c0, const Tensor& lengths, const Tensor& reserve,
               std::string_view mode, bool time_major) {
  Require(op, "grad_out", grad_out,
          rnn_out(op, x, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, h0,
                  c0, lengths, mode, time_major));
  Require(op, "grad_h", grad_h,
          rnn_state(op, x, weight_hh, weight_hr, time_major));
  Require(op, "grad_c", grad_c,
          rnn_cell_state(op, x, weight_ih, mode, time_major));
  if (reserve.defined()) {
    const Shape want =
        rnn_reserve(op, x, weight_ih, weight_hh, mode, time_major);
    bool fits = reserve.dtype() == DType::kUInt8 && reserve.rank() == 3;
    const bool kept = fits && reserve.size(2) != 0;
    for (int d = 0; fits && d < (kept ? 3 : 2); ++d)
      fits = !Differ(reserve.size(d), want[d]);
    PROA_REQUIRE(fits, op, ": reserve must be what rnn gave, ", ToString(want),
                 " uint8; it is ", Describe(reserve));
  }
  return x.shape();
}

DType rnn_sums(const char* op, const Tensor& x, const Tensor& weight_ih,
               std::optional<DType> wanted) {
  const DType dtype = promote(op, x, weight_ih);
  const bool low = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return low && wanted == DType::kFloat32 ? DType::kFloat32 : dtype;
}

Shape rnn_bias(const char*, const Tensor& weight_ih) {
  return {weight_ih.size(0)};
}

Shape rnn_projection(const char*, const Tensor& weight_hr) {
  return weight_hr.defined() ? weight_hr.shape() : Shape{0, 0};
}

}  // namespace proa::inline v0::ops::infer
