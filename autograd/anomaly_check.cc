#include "autograd/anomaly_check.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autograd/anomaly.h"
#include "autograd/grad_ops.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {
namespace {

// Nodes that the formula records belong to it.
class RunningFormula {
 public:
  explicit RunningFormula(const Node& node)
      : saved_(std::exchange(internal::traced_node, &node)) {}
  ~RunningFormula() { internal::traced_node = saved_; }
  RunningFormula(const RunningFormula&) = delete;
  RunningFormula& operator=(const RunningFormula&) = delete;

 private:
  const Node* const saved_;
};

std::string ForwardNote(const Node& node) {
  const std::string place = node.ForwardPlace();
  if (place.empty()) {
    return absl::StrCat("where ", node.name(),
                        " was called is not known: anomaly mode was off, or "
                        "the call came from elsewhere than Python");
  }
  return absl::StrCat(node.name(), " was called\n", place);
}

std::string DescribeAll(std::span<const Tensor> tensors) {
  std::string text;
  for (const Tensor& t : tensors) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", Describe(t));
  }
  return text;
}

NonFiniteCount Count(const Tensor& t) {
  auto* count = InstalledGradOps().count_non_finite;
  if (count == nullptr || !t.defined() || t.is_symbolic() || t.numel() == 0) {
    return {};
  }
  const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
  return count(t);
}

bool Any(const NonFiniteCount& n) { return n.nan != 0 || n.inf != 0; }

std::string InputText(const Node& node, int i) {
  const std::string name = node.InputName(i);
  return name.empty() ? absl::StrCat("input ", i) : name;
}

void CheckFinite(const Node& node, std::span<const Tensor> grads,
                 std::span<const Tensor> input_grads) {
  for (size_t i = 0; i < input_grads.size(); ++i) {
    const NonFiniteCount made = Count(input_grads[i]);
    if (!Any(made)) continue;
    NonFiniteCount came;
    for (const Tensor& grad : grads) {
      const NonFiniteCount n = Count(grad);
      came.nan += n.nan;
      came.inf += n.inf;
    }
    const std::string origin =
        Any(came) ? absl::StrCat("the gradient that came in already had ",
                                 came.nan, " NaN and ", came.inf, " Inf")
                  : "the gradient that came in was finite";
    Fail(absl::StatusCode::kFailedPrecondition, "backward: ", node.name(),
         "'s backward made a gradient of ",
         InputText(node, static_cast<int>(i)), " with ", made.nan, " NaN and ",
         made.inf, " Inf; it is ", Describe(input_grads[i]), "; ", origin, "\n",
         ForwardNote(node));
  }
}

}  // namespace

void BackwardInAnomalyMode(Node& node, std::span<const Tensor> grads,
                           std::span<Tensor> input_grads) {
  const RunningFormula running(node);
  const auto note = [&] {
    return absl::StrCat("in ", node.name(), "'s backward, with gradients ",
                        DescribeAll(grads), "; ", ForwardNote(node));
  };
  try {
    node.Backward(grads, input_grads);
  } catch (const Error& e) {
    e.ThrowWith(note());
  } catch (...) {
    if (auto* annotate = InstalledAnomalyHandlers().annotate) annotate(note());
    throw;
  }
  if (GetAnomalyMode() == AnomalyMode::kTraceAndCheck) {
    CheckFinite(node, grads, input_grads);
  }
}

}  // namespace proa::inline v0::autograd
