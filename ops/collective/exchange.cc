// Composites of collectives.
#include "ops/collective/collective.h"
#include "ops/collective/exchange_ops.h"
#include "ops/creation/creation_ops.h"
#include "ops/elementwise/elementwise_ops.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops {
namespace {

[[noreturn]] void FailNoGradient(const char* op, std::string_view reduce) {
  ParseReduceOp(op, reduce);  // Throws for what is none at all.
  Fail(absl::StatusCode::kUnimplemented, op, ": ",
       reduce == "prod" ? "a product" : reduce,
       " over ranks has no gradient here; take sum or avg, or stop the "
       "gradient of x");
}

// Whether a gradient flows through what is made of x now.
bool Requires(const Tensor& x) {
  return GradEnabled() && (x.flags() & kDifferentiate) != 0;
}

}  // namespace

Tensor AllReduceInTurn(const Tensor& x, int64_t group,
                       std::string_view reduce) {
  if (reduce == "max" || reduce == "min") {
    return extreme_over_ranks_in_turn_(x, CollectiveTurn(x.place()), group,
                                       reduce);
  }
  return all_reduce_in_turn_(x, CollectiveTurn(x.place()), group, reduce);
}

Tensor ReduceToInTurn(const Tensor& x, int64_t root, int64_t group,
                      std::string_view reduce) {
  return reduce_to_rank_in_turn_(x, CollectiveTurn(x.place()), root, group,
                                 reduce);
}

Tensor BroadcastFromInTurn(const Tensor& x, int64_t root, int64_t group) {
  return broadcast_from_in_turn_(x, CollectiveTurn(x.place()), root, group);
}

Tensor AllGatherInTurn(const Tensor& x, int64_t ranks, int64_t group) {
  return all_gather_in_turn_(x, CollectiveTurn(x.place()), ranks, group);
}

Tensor ReduceScatterInTurn(const Tensor& x, int64_t ranks, int64_t group,
                           std::string_view reduce) {
  return reduce_scatter_in_turn_(x, CollectiveTurn(x.place()), ranks, group,
                                 reduce);
}

Tensor GatherToInTurn(const Tensor& x, int64_t root, int64_t ranks,
                      int64_t group) {
  return gather_to_in_turn_(x, CollectiveTurn(x.place()), root, ranks, group);
}

Tensor ScatterFromInTurn(const Tensor& x, int64_t root, int64_t ranks,
                         int64_t group) {
  return scatter_from_in_turn_(x, CollectiveTurn(x.place()), root, ranks,
                               group);
}

Tensor AllToAllInTurn(const Tensor& x, int64_t group,
                      std::span<const int64_t> in_splits,
                      std::span<const int64_t> out_splits) {
  return all_to_all_in_turn_(x, CollectiveTurn(x.place()), group, in_splits,
                             out_splits);
}

// A message and its gradient: the sum of the losses of both ranks is not moved
// by what the sender keeps (a zero), nor by what the receiver had before, so
// each of the two is the gradient of the other, of any order. The gradient of
// a gradient goes by the other rank, of whose operations this one knows
// nothing; so what is exchanged in backward is tied to the result of forward,
// whose node then passes on what comes by there.
Tensor SendAwayInTurn(const Tensor& x, int64_t peer, int64_t group) {
  return send_away_in_turn_(x, CollectiveTurn(x.place()), peer, group,
                            Requires(x));
}

Tensor ReceiveAlongInTurn(const Tensor& link, int64_t peer, int64_t group) {
  return receive_along_in_turn_(link, CollectiveTurn(link.place()), peer, group,
                                Requires(link));
}

Tensor SendAwayGrad(const Tensor&, const Tensor& x, const Tensor& out,
                    int64_t peer, int64_t group) {
  return receive_along(Requires(out) ? add(x, out) : x, peer, group);
}

Tensor ReceiveAlongGrad(const Tensor& dy, const Tensor& out, int64_t peer,
                        int64_t group) {
  const Tensor back =
      Requires(out)
          ? where(full({}, Scalar(false), DType::kBool, out.place()), out, dy)
          : dy;
  return add(full_like(out, Scalar(0)), send_away(back, peer, group));
}

Tensor AllReduceGrad(const Tensor& dy, int64_t group, std::string_view reduce) {
  if (reduce == "prod") FailNoGradient("all_reduce", reduce);
  return all_reduce(dy, group, reduce);
}

Tensor ExtremeOverRanksGrad(const Tensor& dy, const Tensor& x,
                            const Tensor& out, int64_t group) {
  const Tensor chosen = cast(equal(x, out), dy.dtype());
  const Tensor share = divide(all_reduce(dy, group), all_reduce(chosen, group));
  return multiply(chosen, share);
}

Tensor ReduceToGrad(const Tensor& dy, int64_t root, int64_t group,
                    std::string_view reduce) {
  if (reduce != "sum") FailNoGradient("reduce_to_rank", reduce);
  return broadcast_from(dy, root, group);
}

Tensor ReduceScatterGrad(const Tensor& dy, int64_t ranks, int64_t group,
                         std::string_view reduce) {
  if (reduce != "sum" && reduce != "avg")
    FailNoGradient("reduce_scatter", reduce);
  Tensor all = all_gather(dy, ranks, group);
  if (reduce == "avg") {
    all = divide(all, full({}, Scalar(ranks), all.dtype()));
  }
  return all;
}

}  // namespace proa::inline v0::ops
