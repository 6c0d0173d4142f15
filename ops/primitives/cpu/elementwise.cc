#include "ops/primitives/cpu/elementwise.h"

#include <algorithm>
#include <cstdlib>

#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/streaming.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using cpu::IterationCursor;
using cpu::IterationPlan;
using cpu::kMaxOperands;

// Rows of at least this many elements are walked one by one, so that operands
// can be used where they lie; blocks of shorter rows run over their ends.
constexpr int64_t kLongRow = 128;

// What is fixed for a call: the plan and what must be done to each operand.
struct Job {
  const ElementwiseLoop* loop;
  const void* formula;
  IterationPlan plan;
  int64_t size[kMaxOperands];  // of an element in memory
  int64_t compute_size[kMaxOperands];
  ConvertFn convert[kMaxOperands];  // null if memory and compute type are equal
  bool in_place[kMaxOperands];      // an element follows the other in memory
  bool periodic[kMaxOperands];      // all rows of it are the same row
  bool rows;                        // blocks end where rows end
  int64_t block;  // elements of a block, whole rows of short ones
  bool stream;    // write the output past the caches; it is in place then
  bool whole;     // nothing is copied: a block may be a whole row
};

// Buffers of one thread. Uneven distances keep operands off the same cache
// sets.
struct Buffers {
  alignas(64) char block[kMaxOperands][kBlockBytes + 192];
  alignas(64) char raw[kBlockBytes];
  const char* filled[kMaxOperands] = {};  // element that block[op] repeats
};

// Input `op` of `n` elements from the cursor on, in the compute type.
char* LoadInput(const Job& job, const IterationCursor& at, int op, int64_t n,
                Buffers* b) {
  const int64_t stride = job.plan.strides[op][0];
  char* block = b->block[op];
  char* source = at.data[op];
  // What the last block left is right again for one element that repeats along
  // the row, and for one short row that repeats along the block.
  const bool repeated =
      job.rows ? stride == 0 : job.periodic[op] && at.index[0] == 0;
  if (repeated) {
    if (b->filled[op] == source) return block;
    b->filled[op] = source;
    n = job.rows ? std::min(kBlock, job.plan.dims[0])
                 : std::min(job.block, job.plan.numel);
  } else {
    b->filled[op] = nullptr;
  }
  if (!job.in_place[op]) {
    char* gathered = job.convert[op] != nullptr ? b->raw : block;
    if (job.rows) {
      GatherRun(source, stride, job.size[op], n, gathered);
    } else {
      GatherBlock(job.plan, at, op, job.size[op], n, gathered);
    }
    source = gathered;
  }
  if (job.convert[op] == nullptr) return source;
  job.convert[op](source, block, n);
  return block;
}

// Brings `n` computed elements from `block` to where the cursor stands.
void StoreOutput(const Job& job, const IterationCursor& at, int64_t n,
                 const char* block, Buffers* b) {
  char* target = at.data[0];
  if (job.convert[0] != nullptr) {
    char* to = job.in_place[0] && !job.stream ? target : b->raw;
    job.convert[0](block, to, n);
    if (to == target) return;
    block = to;
  }
  if (job.stream) {
    StreamCopy(target, block, n * job.size[0]);
  } else if (job.rows) {
    ScatterRun(block, job.size[0], n, target, job.plan.strides[0][0]);
  } else {
    ScatterBlock(job.plan, at, 0, job.size[0], n, block);
  }
}

// For jobs that are `whole`: nothing is left to do between two rows but to move
// the pointers on.
void RunRows(const Job& job, int64_t begin, int64_t end) {
  const IterationPlan& plan = job.plan;
  const int64_t row = plan.dims[0];
  IterationCursor at;
  at.Seek(plan, begin);
  while (begin < end) {
    const int64_t n = std::min(row - at.index[0], end - begin);
    job.loop->loop(job.formula, at.data, n);
    begin += n;
    if (n < row) {
      if (begin < end) at.Seek(plan, begin);
      continue;
    }
    const int64_t more = plan.rank < 2 ? 0 : plan.dims[1] - at.index[1] - 1;
    for (int64_t i = std::min(more, (end - begin) / row); i > 0; --i) {
      for (int op = 0; op < plan.num_operands; ++op) {
        at.data[op] += plan.strides[op][1];
      }
      job.loop->loop(job.formula, at.data, row);
      begin += row;
    }
    if (begin < end) at.Seek(plan, begin);
  }
}

// A part of a job. What it streams out needs a fence.
void RunPart(const Job& job, int64_t begin, int64_t end) {
  if (job.whole && job.rows) return RunRows(job, begin, end);
  const IterationPlan& plan = job.plan;
  const bool store =
      job.convert[0] != nullptr || !job.in_place[0] || job.stream;
  Buffers buffers;
  IterationCursor at;
  at.Seek(plan, begin);
  for (int64_t position = begin; position < end;) {
    int64_t n = end - position;
    if (!job.whole) n = std::min(n, job.block);
    if (job.rows) {
      n = std::min(n, plan.dims[0] - at.index[0]);
    } else if (at.index[0] != 0) {
      n = std::min(n, plan.dims[0] - at.index[0]);  // then whole rows
    }
    char* data[kMaxOperands];
    data[0] = store ? buffers.block[0] : at.data[0];
    for (int op = 1; op < plan.num_operands; ++op) {
      data[op] = LoadInput(job, at, op, n, &buffers);
    }
    job.loop->loop(job.formula, data, n);
    if (store) StoreOutput(job, at, n, data[0], &buffers);
    position += n;
    if (job.rows) {
      at.Advance(plan, n);
    } else if (position < end) {
      at.Seek(plan, position);
    }
  }
}

void RunRange(const Job& job, int64_t begin, int64_t end) {
  RunPart(job, begin, end);
  if (job.stream) StreamFence();
}

// Non-temporal stores pay when the operands do not fit the cache together.
bool StreamsOutput(const Job& job) {
  const IterationPlan& plan = job.plan;
  const int64_t out_bytes = plan.numel * job.size[0];
  if (out_bytes < cpu::StreamBytes() / 8 || !job.in_place[0]) return false;
  int64_t bytes = 0;
  for (int op = 0; op < plan.num_operands; ++op) {
    if (op > 0 && plan.data[op] == plan.data[0]) return false;  // already read
    int64_t operand = job.size[op];
    for (int d = 0; d < plan.rank; ++d) {
      if (plan.strides[op][d] != 0) operand *= plan.dims[d];
    }
    bytes += operand;
  }
  return cpu::PaysToStream(bytes);
}

// Says how each operand is reached, from the plan.
void PrepareAccess(Job* job) {
  const IterationPlan& plan = job->plan;
  job->rows = plan.rank == 1 || plan.dims[0] >= kLongRow;
  job->block = job->rows ? kBlock : kBlock / plan.dims[0] * plan.dims[0];
  job->whole = true;
  for (int op = 0; op < plan.num_operands; ++op) {
    job->in_place[op] =
        job->rows ? plan.strides[op][0] == job->size[op] || plan.dims[0] == 1
                  : plan.IsLinear(op, job->size[op]);
    job->periodic[op] = true;
    for (int d = 1; d < plan.rank; ++d) {
      if (plan.strides[op][d] != 0) job->periodic[op] = false;
    }
    if (job->convert[op] != nullptr || !job->in_place[op]) job->whole = false;
  }
}

void Prepare(const ElementwiseLoop& loop, const void* formula,
             const Tensor* const* operands, Job* job) {
  job->loop = &loop;
  job->formula = formula;
  cpu::PlanIteration({operands, static_cast<size_t>(loop.num_operands)},
                     &job->plan);
  for (int op = 0; op < loop.num_operands; ++op) {
    const DType memory = operands[op]->dtype(), compute = loop.compute[op];
    job->size[op] = ItemSize(memory);
    job->compute_size[op] = ItemSize(compute);
    job->convert[op] =
        op == 0 ? FindConvert(compute, memory) : FindConvert(memory, compute);
  }
  PrepareAccess(job);
  job->stream = StreamsOutput(*job);
  if (job->stream) job->whole = false;
}

Tensor ContiguousCopy(const Tensor& t) {
  Tensor copy = Tensor::Empty(t.shape(), t.dtype());
  cpu::CopyElements(t, copy);
  return copy;
}

// Operands that are walked across their rows
// ---------------------------------------

// The dim along which input `op` has neighbours in memory if it is walked
// across them, one element of a cache line at a time; else 0.
int DimAcross(const IterationPlan& plan, int op) {
  constexpr int64_t kLine = 64, kWorth = 32768;
  const int64_t* strides = plan.strides[op];
  if (plan.numel < kWorth || std::abs(strides[0]) < kLine || plan.dims[0] < 8)
    return 0;
  for (int d = 1; d < plan.rank; ++d) {
    const int64_t step = std::abs(strides[d]);
    if (step != 0 && step < kLine && plan.dims[d] >= 8) return d;
  }
  return 0;
}

// Such inputs are turned tile by tile into a buffer that stays in the cache. A
// tile is a rectangle of dim 0 and the dim `across`. Where long rows of the
// output are streamed tiles are narrow strips, which follow each other along
// what is read: they are turned, computed and stored while the next one comes,
// a few lines of the output at a time.
struct Tiling {
  static constexpr int64_t kWidth = 512, kHeight = 128;
  static constexpr int64_t kStripBytes = 256, kStripWidth = 64;
  int across;
  bool turned[kMaxOperands];  // inputs that are read by way of the buffer
  int num_turned;
  bool strips;
  int64_t width;       // of a tile
  int64_t wide, high;  // tiles along the two dims
  int64_t tiles;       // of the whole plan
};

// False if no input is walked across its rows.
bool PlanTiles(const Job& job, Tiling* t) {
  const IterationPlan& plan = job.plan;
  t->across = 0;
  t->num_turned = 0;
  for (int op = 1; op < plan.num_operands; ++op) {
    const int dim = DimAcross(plan, op);
    t->turned[op] = dim != 0 && (t->across == 0 || t->across == dim);
    if (!t->turned[op]) continue;
    t->across = dim;
    ++t->num_turned;
  }
  if (t->across == 0) return false;
  t->strips = job.stream && plan.dims[0] >= kLongRow;
  t->width = t->strips ? std::min(Tiling::kStripWidth,
                                  Tiling::kStripBytes / job.size[0])
                       : Tiling::kWidth;
  t->wide = (plan.dims[0] + t->width - 1) / t->width;
  t->high = (plan.dims[t->across] + Tiling::kHeight - 1) / Tiling::kHeight;
  t->tiles =
      t->wide * t->high * (plan.numel / (plan.dims[0] * plan.dims[t->across]));
  return true;
}

// The part of the job that is tile `index`, as a job of rank 2.
void CutTile(const Job& job, const Tiling& t, int64_t index, Job* part) {
  *part = job;
  const IterationPlan& plan = job.plan;
  IterationPlan& p = part->plan;
  const int64_t tile = index % (t.wide * t.high);
  index /= t.wide * t.high;
  const int64_t x = (t.strips ? tile / t.high : tile % t.wide) * t.width;
  const int64_t y =
      (t.strips ? tile % t.high : tile / t.wide) * Tiling::kHeight;
  p.rank = 2;
  p.dims[0] = std::min(t.width, plan.dims[0] - x);
  p.dims[1] = std::min(Tiling::kHeight, plan.dims[t.across] - y);
  p.numel = p.dims[0] * p.dims[1];
  for (int op = 0; op < plan.num_operands; ++op) {
    p.strides[op][1] = plan.strides[op][t.across];
    p.data[op] += x * p.strides[op][0] + y * p.strides[op][1];
  }
  for (int d = 1; d < plan.rank; ++d) {
    if (d == t.across) continue;
    const int64_t i = index % plan.dims[d];
    index /= plan.dims[d];
    for (int op = 0; op < plan.num_operands; ++op)
      p.data[op] += i * plan.strides[op][d];
  }
}

// The input before `op` that is turned and lies as that does, which is in x *
// x; or 0.
int SameInput(const Job& job, const Tiling& t, int op, char* const* from) {
  const IterationPlan& plan = job.plan;
  for (int same = 1; same < op; ++same) {
    if (t.turned[same] && from[same] == from[op] &&
        job.size[same] == job.size[op] &&
        std::equal(plan.strides[op], plan.strides[op] + plan.rank,
                   plan.strides[same]))
      return same;
  }
  return 0;
}

// `count` rows of input `op` of a strip from `row` on, one behind the other in
// the compute type. Turned ones lie so already.
char* LoadStrip(const Job& strip, const Tiling& t, int op, int64_t row,
                int64_t count, Buffers* b) {
  const IterationPlan& p = strip.plan;
  const int64_t width = p.dims[0], size = strip.size[op];
  const int64_t* stride = p.strides[op];
  char* source = p.data[op] + row * stride[1];
  if (!t.turned[op]) {
    char* const to = strip.convert[op] != nullptr ? b->raw : b->block[op];
    for (int64_t r = 0; r < count; ++r) {
      const char* const piece = source + r * stride[1];
      // Rows to come, or none: hardware does not foresee short ones.
      for (int64_t i = 0; i < width * size; i += 64) {
        __builtin_prefetch(piece + count * stride[1] + i);
      }
      GatherRun(piece, stride[0], size, width, to + r * width * size);
    }
    source = to;
  }
  if (strip.convert[op] == nullptr) return source;
  strip.convert[op](source, b->block[op], count * width);
  return b->block[op];
}

// A tile that is a strip, whose inputs have been turned. Its rows are short, so
// blocks are of many, which are stored apart. Meanwhile the lines come that the
// next strip is turned from: they lie behind those of this one, at `from`, rows
// `from_row` apart.
void RunStrip(const Job& strip, const Tiling& t, char* const* from,
              const int64_t* from_row, Buffers* b) {
  const IterationPlan& p = strip.plan;
  const int64_t width = p.dims[0], height = p.dims[1];
  const int64_t rows = std::max<int64_t>(1, kBlock / width);
  for (int64_t row = 0; row < height; row += rows) {
    const int64_t count = std::min(rows, height - row);
    char* data[kMaxOperands] = {b->block[0]};
    for (int op = 1; op < p.num_operands; ++op) {
      const int64_t behind = height * strip.size[op];
      for (int64_t k = width * row / height;
           t.turned[op] && k < width * (row + count) / height; ++k) {
        for (int64_t i = 0; i < behind; i += 64) {
          __builtin_prefetch(from[op] + k * from_row[op] + behind + i, 0, 2);
        }
      }
      data[op] = LoadStrip(strip, t, op, row, count, b);
    }
    strip.loop->loop(strip.formula, data, count * width);
    const char* results = data[0];
    if (strip.convert[0] != nullptr) {
      strip.convert[0](results, b->raw, count * width);
      results = b->raw;
    }
    const int64_t bytes = width * strip.size[0];
    for (int64_t r = 0; r < count; ++r) {
      StreamCopy(p.data[0] + (row + r) * p.strides[0][1], results + r * bytes,
                 bytes);
    }
  }
}

void RunTiles(const Job& job, const Tiling& t, int64_t begin, int64_t end) {
  constexpr int64_t kTileBytes =
      (Tiling::kWidth + kLongRow) * Tiling::kHeight * 16;
  const Tensor buffer =
      Tensor::Empty({t.num_turned * kTileBytes}, DType::kUInt8);
  Buffers buffers;
  Job part;
  for (int64_t index = begin; index < end; ++index) {
    CutTile(job, t, index, &part);
    IterationPlan& p = part.plan;
    char* to = buffer.data<char>();
    char* from[kMaxOperands];  // where operands lie that were turned
    int64_t from_row[kMaxOperands];
    for (int op = 1; op < p.num_operands; ++op) {
      from[op] = p.data[op];
      from_row[op] = p.strides[op][0];
      if (!t.turned[op]) continue;
      if (const int same = SameInput(job, t, op, from); same != 0) {
        p.data[op] = p.data[same];
        std::copy_n(p.strides[same], 2, p.strides[op]);
        continue;
      }
      // Rows a power of two apart would push each other out of the cache.
      const int64_t row =
          (p.dims[0] >= kLongRow ? p.dims[0] + kLongRow / 4 : p.dims[0]) *
          job.size[op];
      cpu::CopyPlane(job.size[op], p.dims[1], p.dims[0], to, row, p.data[op],
                     p.strides[op][1], p.strides[op][0]);
      p.data[op] = to;
      p.strides[op][0] = job.size[op];
      p.strides[op][1] = row;
      to += p.dims[1] * row;
    }
    if (t.strips) {
      RunStrip(part, t, from, from_row, &buffers);
      continue;
    }
    PrepareAccess(&part);
    // (Short rows of a tile need not be one run where those of the whole are.)
    part.stream = job.stream && part.in_place[0];
    if (part.stream) part.whole = false;
    RunPart(part, 0, p.numel);
  }
  if (job.stream) StreamFence();
}

// Small calls, without a plan
// -----------------------------------------------------

// Inputs of one element are repeated this often at most.
constexpr int64_t kRepeated = 64;

// Runs calls that are small, contiguous and of the types of the loop; most
// calls of a small model are. False, and nothing done, for others.
bool RunSmall(const ElementwiseLoop& loop, const void* formula,
              const Tensor& out, const Tensor* const* ins) {
  const TensorImpl& o = *out.impl();
  const int64_t n = o.numel;
  if (!o.contiguous || o.dtype != loop.compute[0] ||
      static_cast<float>(n) * loop.cost > kSerialCost) {
    return false;
  }
  const char* const end = o.data + n * ItemSize(o.dtype);
  alignas(64) char repeated[kMaxOperands - 1][kRepeated * 16];
  char* data[kMaxOperands] = {o.data};
  for (int op = 1; op < loop.num_operands; ++op) {
    const TensorImpl& t = *ins[op - 1]->impl();
    if (t.dtype != loop.compute[op]) return false;
    const int64_t size = ItemSize(t.dtype);
    if (t.numel == n && t.contiguous) {
      // The output itself, or apart from it.
      const bool overlaps = t.data < end && o.data < t.data + n * size;
      if (overlaps && (t.data != o.data || t.dtype != o.dtype)) return false;
      data[op] = t.data;
    } else if (t.numel == 1 && n <= kRepeated) {
      GatherRun(t.data, 0, size, n, repeated[op - 1]);
      data[op] = repeated[op - 1];
    } else {
      return false;
    }
  }
  loop.loop(formula, data, n);
  return true;
}

}  // namespace

void RunBlocks(const ElementwiseLoop& loop, const void* formula, Tensor* out,
               const Tensor* const* ins) {
  if (out->numel() == 0) return;
  if (RunSmall(loop, formula, *out, ins)) return;
  const Tensor* operands[kMaxOperands] = {out};
  Tensor copies[kMaxOperands];
  for (int op = 1; op < loop.num_operands; ++op) {
    operands[op] = ins[op - 1];
    if (cpu::OverlapsPartly(*out, *operands[op])) {
      copies[op] = ContiguousCopy(*operands[op]);
      operands[op] = &copies[op];
    }
  }
  Job job;
  Prepare(loop, formula, operands, &job);
  cpu::RequireWritable(job.plan);
  if (Tiling tiling; PlanTiles(job, &tiling)) {
    parallel_for(0, tiling.tiles, 1, [&](int64_t begin, int64_t end) {
      RunTiles(job, tiling, begin, end);
    });
    return;
  }
  const int64_t numel = job.plan.numel;
  const int64_t grain =
      std::max<int64_t>(kBlock, static_cast<int64_t>(kSerialCost / loop.cost));
  if (numel <= grain) {
    RunRange(job, 0, numel);
    return;
  }
  parallel_for(0, numel, grain, [&job](int64_t begin, int64_t end) {
    RunRange(job, begin, end);
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
