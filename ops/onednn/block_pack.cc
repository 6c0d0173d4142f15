#include "ops/onednn/block_pack.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/for_machine.h"
#include "ops/onednn/block_pack_loops.h"
#include "tensor/parallel.h"

namespace proa::inline v0::onednn {
namespace {

bool IsOfFloats(const dnnl_memory_desc_t& d) {
  return d.format_kind == dnnl_blocked && d.data_type == dnnl_f32 &&
         d.offset0 == 0 && d.extra.flags == 0 && d.ndims >= 3 &&
         std::all_of(d.padded_offsets, d.padded_offsets + d.ndims,
                     [](int64_t offset) { return offset == 0; });
}

// False if it is none of these.
bool PlanOf(const dnnl_memory_desc_t& from, int64_t flip,
            const dnnl_memory_desc_t& to, ops::BlockPlan* plan) {
  if (!IsOfFloats(from) || !IsOfFloats(to) || from.ndims != to.ndims)
    return false;
  const dnnl_blocking_desc_t& source = from.format_desc.blocking;
  const dnnl_blocking_desc_t& target = to.format_desc.blocking;
  if (source.inner_nblks != 0 || target.inner_nblks != 1 ||
      target.inner_idxs[0] != 0)
    return false;
  std::vector<int64_t> taps{0};
  int64_t count = 1;
  for (int d = from.ndims - 1; d >= 2; --d) {
    if (from.dims[d] > 1 && source.strides[d] != count) return false;
    count *= from.dims[d];
  }
  for (int d = 2; d < to.ndims; ++d) {
    std::vector<int64_t> next;
    for (const int64_t tap : taps)
      for (int64_t i = 0; i < to.dims[d]; ++i)
        next.push_back(tap + i * target.strides[d]);
    taps = std::move(next);
  }
  if (flip > 1) {
    if (flip != count) return false;
    std::reverse(taps.begin(), taps.end());
  }
  plan->rows = from.dims[0];
  plan->columns = from.dims[1];
  plan->lanes = target.inner_blks[0];
  plan->from_row = source.strides[0];
  plan->from_column = source.strides[1];
  plan->to_block = target.strides[0];
  plan->to_column = target.strides[1];
  plan->to_tap = std::move(taps);
  for (int d = 0; d < to.ndims; ++d) {
    const int64_t padded = d == 0 ? plan->blocks() * plan->lanes : to.dims[d];
    if (from.dims[d] != to.dims[d] || to.padded_dims[d] != padded) return false;
  }
  return plan->from_column == count || plan->from_row == count;
}

}  // namespace

bool PackInBlocks(const dnnl::memory::desc& from, const void* source,
                  int64_t flip, const dnnl::memory::desc& to, void* target) {
  constexpr int64_t kElements = 16384, kColumns = 8;  // of a part, at least
  ops::BlockPlan plan;
  if (!PlanOf(from.data, flip, to.data, &plan)) return false;
  const ops::BlockPackLoop pack = ops::ForMachine(
      ops::sse2::PackBlocks, ops::avx2::PackBlocks, ops::avx512::PackBlocks);
  // Of a block, or through all of them, as the source lies: with taps these
  // would be more lines that are written at a time than hardware follows.
  const int64_t blocks = plan.by_rows() || plan.taps() > 1 ? 1 : plan.blocks();
  const int64_t column = blocks * plan.lanes * plan.taps();
  const int64_t columns =
      std::max(kColumns, kElements / column / kColumns * kColumns);
  const int64_t parts = (plan.columns + columns - 1) / columns;
  parallel_for(
      0, plan.blocks() / blocks * parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t block = k / parts * blocks;
          const int64_t first = k % parts * columns;
          const int64_t last = std::min(first + columns, plan.columns);
          pack(plan, {block, block + blocks, first, last},
               static_cast<const float*>(source), static_cast<float*>(target));
        }
      });
  return true;
}

}  // namespace proa::inline v0::onednn
