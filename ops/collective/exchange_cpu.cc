#include "ops/collective/collective.h"
#include "ops/collective/exchange_kernels.h"
#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

void Run(Collective kind, const Tensor& x, int64_t group, Tensor* out,
         int64_t peer = 0, std::string_view reduce = "sum") {
  RunCollective({.kind = kind,
                 .reduce = ParseReduceOp(Name(kind), reduce),
                 .group = group,
                 .peer = peer,
                 .in = x,
                 .out = out == nullptr ? Tensor() : *out});
}

// What ranks that get nothing have.
void Clear(Tensor* out) {
  if (out->bytes() == 0) return;
  DeviceRuntime& runtime = RuntimeOf(out->place());
  const int device = out->place().index;
  runtime.Fill(device, out->raw_data(), 0, out->bytes(),
               runtime.current_stream(device));
}

}  // namespace

void AllReduce(const KernelContext&, const Tensor& x, const Tensor&,
               int64_t group, std::string_view reduce, Tensor* out) {
  Run(Collective::kAllReduce, x, group, out, 0, reduce);
}

void ExtremeOverRanks(const KernelContext& ctx, const Tensor& x,
                      const Tensor& turn, int64_t group,
                      std::string_view reduce, Tensor* out) {
  AllReduce(ctx, x, turn, group, reduce, out);
}

void ReduceTo(const KernelContext&, const Tensor& x, const Tensor&,
              int64_t root, int64_t group, std::string_view reduce,
              Tensor* out) {
  Clear(out);
  Run(Collective::kReduce, x, group, out, root, reduce);
}

void BroadcastFrom(const KernelContext&, const Tensor& x, const Tensor&,
                   int64_t root, int64_t group, Tensor* out) {
  CopyInto(x, *out);
  Run(Collective::kBroadcast, *out, group, out, root);
}

void AllGather(const KernelContext&, const Tensor& x, const Tensor&, int64_t,
               int64_t group, Tensor* out) {
  Run(Collective::kAllGather, x, group, out);
}

void ReduceScatter(const KernelContext&, const Tensor& x, const Tensor&,
                   int64_t, int64_t group, std::string_view reduce,
                   Tensor* out) {
  Run(Collective::kReduceScatter, x, group, out, 0, reduce);
}

void GatherTo(const KernelContext&, const Tensor& x, const Tensor&,
              int64_t root, int64_t, int64_t group, Tensor* out) {
  Clear(out);
  Run(Collective::kGather, x, group, out, root);
}

void ScatterFrom(const KernelContext&, const Tensor& x, const Tensor&,
                 int64_t root, int64_t, int64_t group, Tensor* out) {
  Run(Collective::kScatter, x, group, out, root);
}

void AllToAll(const KernelContext&, const Tensor& x, const Tensor&,
              int64_t group, std::span<const int64_t> in_splits,
              std::span<const int64_t> out_splits, Tensor* out) {
  RunCollective({.kind = Collective::kAllToAll,
                 .group = group,
                 .in = x,
                 .out = *out,
                 .in_splits = {in_splits.begin(), in_splits.end()},
                 .out_splits = {out_splits.begin(), out_splits.end()}});
}

void SendTo(const KernelContext&, const Tensor& x, const Tensor&, int64_t peer,
            int64_t group) {
  Run(Collective::kSend, x, group, nullptr, peer);
}

void ReceiveFrom(const KernelContext&, int64_t peer, const Tensor&,
                 const IntArray&, DType, int64_t group, Tensor* out) {
  Run(Collective::kReceive, Tensor(), group, out, peer);
}

void SendAway(const KernelContext&, const Tensor& x, const Tensor&,
              int64_t peer, int64_t group, bool answered, Tensor* out) {
  Clear(out);
  // A copy goes, so that who waits for a message of its own is not waited for,
  // and x may change.
  Tensor copy = Tensor::Empty(x.shape(), x.dtype(), x.place());
  CopyInto(x, copy);
  const CollectiveLater unwaited;
  RunCollective({.kind = Collective::kSend,
                 .group = group,
                 .peer = peer,
                 .in = copy,
                 .answered = answered});
}

void ReceiveAlong(const KernelContext&, const Tensor&, const Tensor&,
                  int64_t peer, int64_t group, bool answered, Tensor* out) {
  RunCollective({.kind = Collective::kReceive,
                 .group = group,
                 .peer = peer,
                 .out = *out,
                 .answered = answered});
}

void Barrier(const KernelContext&, int64_t group, const Tensor&) {
  Run(Collective::kBarrier, Tensor(), group, nullptr);
}

}  // namespace proa::inline v0::ops::cpu
