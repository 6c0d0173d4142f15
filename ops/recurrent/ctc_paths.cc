#include "ops/recurrent/ctc_paths.h"

#include "ops/recurrent/integers.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

std::vector<CtcPath> CtcPaths(const char* op, const Tensor& logits,
                              const Tensor& labels, const Tensor& input_lengths,
                              const Tensor& label_lengths, int64_t blank) {
  const int64_t steps = logits.size(0), batch = logits.size(1),
                classes = logits.size(2), longest = labels.size(1);
  const std::vector<int64_t> label = ReadIntegers(labels);
  const std::vector<int64_t> inputs = ReadIntegers(input_lengths);
  const std::vector<int64_t> lengths = ReadIntegers(label_lengths);
  std::vector<CtcPath> paths(batch);
  for (int64_t n = 0; n < batch; ++n) {
    PROA_REQUIRE(inputs[n] >= 0 && inputs[n] <= steps, op, ": input length ",
                 inputs[n], " of sample ", n, " is not in [0, ", steps,
                 "], the steps of logits ", Describe(logits));
    PROA_REQUIRE(lengths[n] >= 0 && lengths[n] <= longest, op,
                 ": label length ", lengths[n], " of sample ", n,
                 " is not in [0, ", longest, "], the width of labels ",
                 Describe(labels));
    CtcPath& path = paths[n];
    path.steps = inputs[n];
    path.classes.assign(2 * lengths[n] + 1, blank);
    int64_t needed = lengths[n];
    for (int64_t i = 0; i < lengths[n]; ++i) {
      const int64_t c = label[n * longest + i];
      PROA_REQUIRE(c >= 0 && c < classes, op, ": label ", c, " at [", n, ", ",
                   i, "] is not in [0, ", classes, ")");
      path.classes[2 * i + 1] = c;
      if (i > 0 && c == path.classes[2 * i - 1]) ++needed;
    }
    path.possible = path.steps > 0 && needed <= path.steps;
  }
  return paths;
}

}  // namespace proa::inline v0::ops
