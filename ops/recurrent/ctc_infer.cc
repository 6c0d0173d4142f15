#include "absl/strings/str_cat.h"
#include "ops/recurrent/recurrent_infer.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

void RequireIntegers(const char* op, const char* name, const Tensor& t) {
  if (!IsInteger(t.dtype()))
    ThrowTypeError(
        absl::StrCat(op, ": ", name, " must be integers; it is ", Describe(t)));
}

}  // namespace

Shape ctc_loss(const char* op, const Tensor& logits, const Tensor& labels,
               const Tensor& input_lengths, const Tensor& label_lengths,
               int64_t blank) {
  PROA_REQUIRE(logits.rank() == 3, op, ": logits must be [T, N, C]; it is ",
               Describe(logits));
  const int64_t batch = logits.size(1), classes = logits.size(2);
  RequireIntegers(op, "labels", labels);
  PROA_REQUIRE(labels.rank() == 2 && !Differ(labels.size(0), batch), op,
               ": labels must be [", batch, ", L], as logits is ",
               Describe(logits), "; it is ", Describe(labels));
  const auto require_lengths = [&](const char* name, const Tensor& t) {
    RequireIntegers(op, name, t);
    PROA_REQUIRE(t.rank() == 1 && !Differ(t.size(0), batch), op, ": ", name,
                 " must be [", batch, "], as logits is ", Describe(logits),
                 "; it is ", Describe(t));
  };
  require_lengths("input_lengths", input_lengths);
  require_lengths("label_lengths", label_lengths);
  PROA_REQUIRE(blank >= 0 && (IsUnknown(classes) || blank < classes), op,
               ": blank must be one of ", classes, " classes, not ", blank);
  return {batch};
}

Shape ctc_reserve(const char* op, const Tensor& logits, const Tensor& labels) {
  const int64_t item = logits.dtype() == DType::kFloat64 ? 8 : 4;
  const int64_t longest = labels.size(1);
  PROA_REQUIRE(longest < int64_t{1} << 40, op,
               ": labels is too long: ", Describe(labels));
  return {logits.size(1), logits.size(0),
          IsUnknown(longest) ? kUnknownDim : (2 * longest + 2) * item};
}

Shape ctc_loss_grad(const char* op, const Tensor& grad_loss,
                    const Tensor& logits, const Tensor& labels,
                    const Tensor& input_lengths, const Tensor& label_lengths,
                    const Tensor& reserve, int64_t blank) {
  const int64_t batch =
      ctc_loss(op, logits, labels, input_lengths, label_lengths, blank)[0];
  PROA_REQUIRE(grad_loss.rank() == 1 && !Differ(grad_loss.size(0), batch), op,
               ": grad_loss must be [", batch, "]; it is ",
               Describe(grad_loss));
  if (reserve.defined()) {
    const Shape want = ctc_reserve(op, logits, labels);
    bool fits = reserve.dtype() == DType::kUInt8 && reserve.rank() == 3;
    for (int d = 0; fits && d < 3; ++d)
      fits = !Differ(reserve.size(d), want[d]);
    PROA_REQUIRE(fits, op, ": reserve must be what ctc_loss gave, ",
                 ToString(want), " uint8; it is ", Describe(reserve));
  }
  return logits.shape();
}

}  // namespace proa::inline v0::ops::infer
