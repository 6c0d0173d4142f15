// Gradients of the gradient of the CTC loss, as formulas over ops: the
// forward-backward algorithm on logits and the rate at which they change along
// the gradient that came (ops/recurrent/dual.h).
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/creation/full_ops.h"
#include "ops/creation/range_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/logical_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/indexing/embedding_ops.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/manipulation/arrange_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/softmax_ops.h"
#include "ops/recurrent/ctc_ops.h"
#include "ops/recurrent/dual.h"
#include "ops/recurrent/recurrent_infer.h"
#include "ops/reduction/moments_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

// The logarithm of a probability of 0: finite, so that rates are.
constexpr double kNever = -1e30;

// What paths fix, as tensors; P: places of the longest path.
struct Tables {
  Tensor classes;     // [N, P, C]: 1 where the place has the class
  Tensor start, end;  // [1, P], [N, P]: log of whether a path may start, end
  Tensor skip;        // [N, P]: log of whether it may be reached by a skip
  Tensor runs;        // [T, N, 1], bool: steps of the input, of possible paths
  std::vector<Tensor> ends;  // of each step [N, 1], bool: the last one
  Tensor factor;             // [N, 1]: what the gradient is multiplied by
};

// Whole numbers from 0 on, as a row.
Tensor Counted(const Tensor& like, int64_t end) {
  const int64_t first[] = {0};
  return unsqueeze(arange(Scalar(int64_t{0}), Scalar(end), Scalar(int64_t{1}),
                          DType::kInt64, like.place()),
                   first);
}

Tensor Number(int64_t x) { return full(IntArray(), Scalar(x), DType::kInt64); }

Tables TablesOf(const Tensor& logits, const Tensor& labels,
                const Tensor& input_lengths, const Tensor& label_lengths,
                int64_t blank, bool norm_by_times) {
  const int64_t batch = logits.size(1), longest = labels.size(1),
                places = 2 * longest + 1;
  const int64_t column[] = {1};
  const auto log_of = [&](const Tensor& allowed) {
    const Tensor zero = full_like(allowed, Scalar(0.0), logits.dtype());
    return where(allowed, zero, full_like(zero, Scalar(kNever)));
  };
  const auto columns = [&](const Tensor& t, int64_t from, int64_t to) {
    const int64_t begin[] = {from}, end[] = {to};
    return slice(t, column, begin, end);
  };
  const Tensor inputs = unsqueeze(cast(input_lengths, DType::kInt64), column);
  const Tensor lengths = unsqueeze(cast(label_lengths, DType::kInt64), column);
  const Tensor of_label = less_than(Counted(logits, longest), lengths);
  Tensor label = cast(labels, DType::kInt64);
  const Tensor blanks = full_like(label, Scalar(blank));
  label = where(of_label, label, blanks);
  const Tensor pairs[] = {blanks, label};
  const int64_t flat[] = {batch, places - 1};
  const Tensor path_parts[] = {reshape(stack(pairs, 2), IntArray(flat)),
                               full_like(lengths, Scalar(blank))};
  const Tensor path = concat(path_parts, 1);

  Tables tables;
  tables.classes = one_hot(path, logits.size(2), logits.dtype());
  const Tensor at = Counted(logits, places), twice = add(lengths, lengths);
  tables.start = log_of(less_than(at, Number(2)));
  tables.end = log_of(logical_and(less_equal(at, twice),
                                  greater_equal(add(at, Number(1)), twice)));
  tables.skip = full_like(path, Scalar(kNever), logits.dtype());
  Tensor possible = greater_than(inputs, Number(0));
  if (longest > 0) {
    const Tensor later = columns(path, 2, places);
    const Tensor parts[] = {
        columns(tables.skip, 0, 2),
        log_of(logical_and(not_equal(later, Number(blank)),
                           not_equal(later, columns(path, 0, places - 2))))};
    tables.skip = concat(parts, 1);
    const Tensor repeats = logical_and(
        equal(columns(label, 1, longest), columns(label, 0, longest - 1)),
        columns(of_label, 1, longest));
    const Tensor needed = add(
        lengths, sum(cast(repeats, DType::kInt64), column, std::nullopt, true));
    possible = logical_and(possible, less_equal(needed, inputs));
  }
  const int64_t order[] = {1, 0}, deep[] = {2};
  const Tensor step =
      unsqueeze(transpose(Counted(logits, logits.size(0)), order), deep);
  tables.runs = logical_and(less_than(step, inputs), possible);
  tables.ends = unbind(greater_equal(add(step, Number(1)), inputs), 0);
  tables.factor = full_like(lengths, Scalar(1.0), logits.dtype());
  if (norm_by_times)
    tables.factor = divide(
        tables.factor, cast(clip(inputs, Scalar(int64_t{1})), logits.dtype()));
  return tables;
}

// Places [N, P] moved on by `by`, or back where that is negative.
Dual Moved(const Dual& x, int64_t by) {
  const int64_t width = x.value.size(1);
  const int64_t d = std::min(std::abs(by), width);
  const auto move = [&](double fill) {
    return [=](const Tensor& t) {
      const int64_t axis[] = {1}, from[] = {by > 0 ? 0 : d},
                    to[] = {by > 0 ? width - d : width};
      const int64_t paddings[] = {0, 0, by > 0 ? d : 0, by > 0 ? 0 : d};
      return pad(slice(t, axis, from, to), paddings, "constant", Scalar(fill));
    };
  };
  return {move(kNever)(x.value), RateBy(x.rate, move(0.0))};
}

Dual Constant(const Tensor& t) { return {t, Tensor()}; }

// No less than kNever, so that sums stay finite.
Dual Bounded(const Dual& x) { return {clip(x.value, Scalar(kNever)), x.rate}; }

std::vector<Dual> StepsOf(const Dual& x) {
  std::vector<Dual> steps;
  for (Tensor& t : unbind(x.value, 0)) steps.push_back({t, Tensor()});
  const std::vector<Tensor> rates = unbind(x.rate, 0);
  for (size_t t = 0; t < steps.size(); ++t) steps[t].rate = rates[t];
  return steps;
}

// The share of the paths that is at each place, [N, P], for each step.
std::vector<Dual> Shares(const Tables& tables,
                         const std::vector<Dual>& scores) {
  const int64_t steps = static_cast<int64_t>(scores.size());
  const std::vector<Tensor> runs = unbind(tables.runs, 0);
  const Dual skip = Constant(tables.skip);
  std::vector<Dual> alpha, shares(steps);
  alpha.push_back(Constant(tables.start) + scores[0]);
  for (int64_t t = 1; t < steps; ++t) {
    const Dual& a = alpha.back();
    alpha.push_back(
        Bounded(LogSumExp({a, Moved(a, 1), Moved(a, 2) + skip}) + scores[t]));
  }
  const int64_t places[] = {1};
  Dual later;
  for (int64_t t = steps - 1; t >= 0; --t) {
    Dual beta = Constant(tables.end);
    if (t + 1 < steps) {
      const Dual moved =
          LogSumExp({later, Moved(later, -1), Moved(later + skip, -2)});
      beta = Chosen(tables.ends[t], beta, Bounded(moved));
    }
    const Dual path = Bounded(alpha[t] + beta);
    // The probability of all paths is the same at each step.
    const Tensor total = logsumexp(path.value, places, true);
    const Tensor share = exp(subtract(path.value, total));
    const Tensor rate =
        multiply(share, subtract(path.rate, sum(multiply(share, path.rate),
                                                places, std::nullopt, true)));
    const Tensor zero = full_like(share, Scalar(0.0));
    shares[t] = {where(runs[t], share, zero), where(runs[t], rate, zero)};
    later = Bounded(beta + scores[t]);
  }
  return shares;
}

}  // namespace

std::tuple<Tensor, Tensor> CtcLossGradGrad(
    const Tensor& grad_logits, const Tensor& grad_loss, const Tensor& logits,
    const Tensor& labels, const Tensor& input_lengths,
    const Tensor& label_lengths, int64_t blank, bool norm_by_times) {
  const char* const op = "ctc_loss_grad_grad";
  infer::ctc_loss_grad(op, grad_loss, logits, labels, input_lengths,
                       label_lengths, Tensor(), blank);
  for (const Tensor* t : {&grad_logits, &grad_loss, &logits})
    if (!IsFloat(t->dtype()))
      ThrowTypeError(absl::StrCat(op, ": gradients and logits must be float; ",
                                  "one is ", Describe(*t)));
  PROA_REQUIRE(grad_logits.shape() == logits.shape(), op,
               ": grad_logits must have the shape of logits, ",
               ToString(logits.shape()), "; it is ", Describe(grad_logits));
  for (const Tensor* t : {&logits, &labels, &input_lengths, &label_lengths})
    PROA_REQUIRE(t->shape().known(), op, ": sizes must be known; one is ",
                 Describe(*t));
  if (logits.size(0) == 0 || logits.size(1) == 0)
    return {full_like(grad_loss, Scalar(0.0)), full_like(logits, Scalar(0.0))};
  // Logarithms of 0 are finite numbers here, which 16 bits do not hold.
  if (logits.dtype() == DType::kFloat16 || logits.dtype() == DType::kBFloat16) {
    const auto [of_grad_loss, of_logits] = CtcLossGradGrad(
        cast(grad_logits, DType::kFloat32), cast(grad_loss, DType::kFloat32),
        cast(logits, DType::kFloat32), labels, input_lengths, label_lengths,
        blank, norm_by_times);
    return {cast(of_grad_loss, grad_loss.dtype()),
            cast(of_logits, logits.dtype())};
  }
  const Tables tables = TablesOf(logits, labels, input_lengths, label_lengths,
                                 blank, norm_by_times);
  // Rates along grad_logits; those beyond the lengths do not count, nor do
  // logits there.
  const Tensor zero = full_like(logits, Scalar(0.0));
  const Tensor runs = cast(tables.runs, logits.dtype());
  const Tensor x = where(tables.runs, logits, zero);
  const Tensor v = where(tables.runs, grad_logits, zero);
  const int64_t last[] = {-1};
  const Tensor p = softmax(x, -1);
  const Tensor centered =
      subtract(v, sum(multiply(p, v), last, std::nullopt, true));
  const Dual y{log_softmax(x, -1), centered};
  const Dual of_places = Linearly(y, [&](const Tensor& t) {
    return matmul(unsqueeze(t, std::vector<int64_t>{2}), tables.classes, false,
                  true);
  });
  const int64_t two[] = {2};
  const std::vector<Dual> shares =
      Shares(tables, StepsOf(Linearly(of_places, [&](const Tensor& t) {
               return squeeze(t, two);
             })));

  std::vector<Tensor> values, rates;
  for (const Dual& s : shares) {
    values.push_back(s.value);
    rates.push_back(s.rate);
  }
  const auto by_class = [&](const std::vector<Tensor>& ts) {
    return squeeze(matmul(unsqueeze(stack(ts, 0), two), tables.classes), two);
  };
  const Tensor slope =
      multiply(subtract(multiply(p, runs), by_class(values)), tables.factor);
  const Tensor bend =
      multiply(subtract(multiply(multiply(p, centered), runs), by_class(rates)),
               tables.factor);
  const int64_t outer[] = {0, 2};
  const int64_t one[] = {1};
  return {sum(multiply(slope, v), outer),
          multiply(bend, unsqueeze(grad_loss, one))};
}

}  // namespace proa::inline v0::ops
