// On any device: what carries the tensors knows where they lie, so the kernels
// are those of the host.
#include "ops/collective/exchange_kernels.h"

namespace proa::inline v0::ops::device {

void AllReduce(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
               int64_t group, std::string_view reduce, Tensor* out) {
  cpu::AllReduce(ctx, x, turn, group, reduce, out);
}

void ExtremeOverRanks(const KernelContext& ctx, const Tensor& x,
                      const Tensor& turn, int64_t group,
                      std::string_view reduce, Tensor* out) {
  cpu::ExtremeOverRanks(ctx, x, turn, group, reduce, out);
}

void ReduceTo(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
              int64_t root, int64_t group, std::string_view reduce,
              Tensor* out) {
  cpu::ReduceTo(ctx, x, turn, root, group, reduce, out);
}

void BroadcastFrom(const KernelContext& ctx, const Tensor& x,
                   const Tensor& turn, int64_t root, int64_t group,
                   Tensor* out) {
  cpu::BroadcastFrom(ctx, x, turn, root, group, out);
}

void AllGather(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
               int64_t ranks, int64_t group, Tensor* out) {
  cpu::AllGather(ctx, x, turn, ranks, group, out);
}

void ReduceScatter(const KernelContext& ctx, const Tensor& x,
                   const Tensor& turn, int64_t ranks, int64_t group,
                   std::string_view reduce, Tensor* out) {
  cpu::ReduceScatter(ctx, x, turn, ranks, group, reduce, out);
}

void GatherTo(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
              int64_t root, int64_t ranks, int64_t group, Tensor* out) {
  cpu::GatherTo(ctx, x, turn, root, ranks, group, out);
}

void ScatterFrom(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
                 int64_t root, int64_t ranks, int64_t group, Tensor* out) {
  cpu::ScatterFrom(ctx, x, turn, root, ranks, group, out);
}

void AllToAll(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
              int64_t group, std::span<const int64_t> in_splits,
              std::span<const int64_t> out_splits, Tensor* out) {
  cpu::AllToAll(ctx, x, turn, group, in_splits, out_splits, out);
}

void SendTo(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
            int64_t peer, int64_t group) {
  cpu::SendTo(ctx, x, turn, peer, group);
}

void ReceiveFrom(const KernelContext& ctx, int64_t peer, const Tensor& turn,
                 const IntArray& shape, DType dtype, int64_t group,
                 Tensor* out) {
  cpu::ReceiveFrom(ctx, peer, turn, shape, dtype, group, out);
}

void SendAway(const KernelContext& ctx, const Tensor& x, const Tensor& turn,
              int64_t peer, int64_t group, bool answered, Tensor* out) {
  cpu::SendAway(ctx, x, turn, peer, group, answered, out);
}

void ReceiveAlong(const KernelContext& ctx, const Tensor& link,
                  const Tensor& turn, int64_t peer, int64_t group,
                  bool answered, Tensor* out) {
  cpu::ReceiveAlong(ctx, link, turn, peer, group, answered, out);
}

void Barrier(const KernelContext& ctx, int64_t group, const Tensor& turn) {
  cpu::Barrier(ctx, group, turn);
}

}  // namespace proa::inline v0::ops::device
