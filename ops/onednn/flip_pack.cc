#include "ops/onednn/flip_pack.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tensor/parallel.h"

namespace proa::inline v0::onednn {
namespace {

// The dims of the channels are 0 and 1 in the order of the descriptor.
struct Plan {
  int64_t groups = 1, group_from = 0, group_to = 0;
  int64_t size[2], block[2];    // elements, and of a block
  int64_t from[2], to[2];       // strides, of `to` in blocks
  std::vector<int64_t> taps;    // offsets of the taps from last to first
  std::vector<int64_t> places;  // [block[0], block[1]] within a block
  int64_t Blocks(int d) const { return (size[d] + block[d] - 1) / block[d]; }
};

// The offsets of the taps in `to`, whose first dim is `first`, turned round.
std::vector<int64_t> TapsOf(const dnnl_memory_desc_t& to, int first) {
  std::vector<int64_t> taps{0};
  for (int d = first; d < to.ndims; ++d) {
    std::vector<int64_t> next;
    for (const int64_t tap : taps)
      for (int64_t i = 0; i < to.dims[d]; ++i)
        next.push_back(tap + i * to.format_desc.blocking.strides[d]);
    taps = std::move(next);
  }
  std::reverse(taps.begin(), taps.end());
  return taps;
}

// Where the elements of a block are, [size of dim 0, size of dim 1].
std::vector<int64_t> PlacesOf(const dnnl_blocking_desc_t& to, int first,
                              const int64_t (&block)[2]) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < block[0]; ++i) {
    for (int64_t j = 0; j < block[1]; ++j) {
      int64_t left[2] = {i, j}, place = 0, step = 1;
      for (int b = to.inner_nblks - 1; b >= 0; --b) {
        int64_t& rest = left[to.inner_idxs[b] - first];
        place += rest % to.inner_blks[b] * step;
        rest /= to.inner_blks[b];
        step *= to.inner_blks[b];
      }
      places.push_back(place);
    }
  }
  return places;
}

bool IsPlain(const dnnl_memory_desc_t& d) {
  return d.format_kind == dnnl_blocked && d.offset0 == 0 &&
         d.extra.flags == 0 &&
         std::all_of(d.padded_offsets, d.padded_offsets + d.ndims,
                     [](int64_t offset) { return offset == 0; });
}

bool PlanOf(const dnnl_memory_desc_t& from, int64_t flip,
            const dnnl_memory_desc_t& to, Plan* plan) {
  if (!IsPlain(from) || !IsPlain(to) || from.ndims != to.ndims ||
      from.data_type != to.data_type ||
      from.format_desc.blocking.inner_nblks != 0 ||
      to.format_desc.blocking.inner_nblks == 0) {
    return false;
  }
  const dnnl_blocking_desc_t& source = from.format_desc.blocking;
  const dnnl_blocking_desc_t& target = to.format_desc.blocking;
  // The taps lie one behind the other in the source.
  int last = from.ndims;
  int64_t taps = 1;
  while (last > 2 && ((taps < flip && source.strides[last - 1] == taps) ||
                      from.dims[last - 1] == 1)) {
    taps *= from.dims[--last];
  }
  const int first = last - 2;
  if (taps != flip || first < 0 || first > 1) return false;
  for (int d = 0; d < to.ndims; ++d) {
    const bool is_channel = d == first || d == first + 1;
    if (from.dims[d] != to.dims[d]) return false;
    if (!is_channel && to.padded_dims[d] != to.dims[d]) return false;
  }
  plan->block[0] = plan->block[1] = 1;
  for (int b = 0; b < target.inner_nblks; ++b) {
    const int64_t d = target.inner_idxs[b] - first;
    if (d < 0 || d > 1) return false;
    plan->block[d] *= target.inner_blks[b];
  }
  if (first == 1) {
    plan->groups = from.dims[0];
    plan->group_from = source.strides[0];
    plan->group_to = target.strides[0];
  }
  for (int d = 0; d < 2; ++d) {
    plan->size[d] = from.dims[first + d];
    plan->from[d] = source.strides[first + d];
    plan->to[d] = target.strides[first + d];
    // All that is padded is in blocks that hold elements.
    if (to.padded_dims[first + d] != plan->Blocks(d) * plan->block[d])
      return false;
  }
  plan->taps = TapsOf(to, last);
  plan->places = PlacesOf(target, first, plan->block);
  return true;
}

// kTaps: how many there are, or 0.
template <typename T, int kTaps>
void PackBlock(const Plan& plan, const T* from, int64_t rows, int64_t columns,
               T* to) {
  const int64_t count =
      kTaps > 0 ? kTaps : static_cast<int64_t>(plan.taps.size());
  const int64_t* const taps = plan.taps.data();
  // Dim 1 goes outermost: it is that of the rows of the weight.
  for (int64_t j = 0; j < columns; ++j) {
    const T* source = from + j * plan.from[1];
    const int64_t* place = plan.places.data() + j;
    for (int64_t i = 0; i < rows; ++i) {
      T* const target = to + *place;
      for (int64_t t = 0; t < count; ++t) target[taps[t]] = source[t];
      source += plan.from[0];
      place += plan.block[1];
    }
  }
}

template <typename T>
void Pack(const Plan& plan, const void* source, void* target) {
  const int64_t taps = static_cast<int64_t>(plan.taps.size());
  const int64_t rows = plan.Blocks(0), columns = plan.Blocks(1);
  const int64_t block = plan.block[0] * plan.block[1];
  const auto pack = taps == 9 ? PackBlock<T, 9> : PackBlock<T, 0>;
  parallel_for(
      0, plan.groups * rows * columns,
      std::max<int64_t>(1, 16384 / (block * taps)),
      [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const int64_t group = b / (rows * columns);
          const int64_t column = b / rows % columns, row = b % rows;
          const int64_t i = row * plan.block[0], j = column * plan.block[1];
          const T* const from = static_cast<const T*>(source) +
                                group * plan.group_from + i * plan.from[0] +
                                j * plan.from[1];
          T* const to = static_cast<T*>(target) + group * plan.group_to +
                        row * plan.to[0] + column * plan.to[1];
          const int64_t height = std::min(plan.block[0], plan.size[0] - i);
          const int64_t width = std::min(plan.block[1], plan.size[1] - j);
          if (height * width < block) {
            for (const int64_t tap : plan.taps)
              std::memset(to + tap, 0, block * sizeof(T));
          }
          pack(plan, from, height, width, to);
        }
      });
}

}  // namespace

bool FlipAndPack(const dnnl::memory::desc& from, const void* source,
                 int64_t flip, const dnnl::memory::desc& to, void* target) {
  Plan plan;
  if (!PlanOf(from.data, flip, to.data, &plan)) return false;
  switch (dnnl::memory::data_type_size(from.data_type())) {
    case 2:
      Pack<uint16_t>(plan, source, target);
      return true;
    case 4:
      Pack<uint32_t>(plan, source, target);
      return true;
    default:
      return false;
  }
}

}  // namespace proa::inline v0::onednn
