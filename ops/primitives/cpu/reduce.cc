#include "ops/primitives/cpu/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/elementwise.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using cpu::IterationCursor;
using cpu::IterationPlan;

// Elements that one task folds at most. Part of the result's definition: it
// decides in which order partial results meet.
constexpr int64_t kTask = 65536;
// Elements folded by one call of the loop.
constexpr int64_t kFold = 4096;
// Contiguous elements that are worth a call of their own.
constexpr int64_t kLongRun = 128;
// Rows merged into one accumulator row before it is merged into the next.
constexpr int64_t kCascade = 64;
constexpr int kLevels = 6;
// Results side by side that a task adds rows to, where rows are used in place.
constexpr int64_t kWideStrip = 8192;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct AlignedFree {
  void operator()(char* p) const {
    ::operator delete[](p, std::align_val_t{64});
  }
};
using AlignedBytes = std::unique_ptr<char[], AlignedFree>;
AlignedBytes AllocateBytes(int64_t bytes) {
  return AlignedBytes(
      new (std::align_val_t{64}) char[std::max<int64_t>(bytes, 1)]);
}

// What is fixed for a call. `kept` walks the accumulators (operand 0) and the
// first element of each in x (operand 1); `reduced` walks the elements of one
// result.
struct Job {
  const Reduction* op;
  IterationPlan kept;
  IterationPlan reduced;
  int64_t size;          // of an element of x
  int64_t compute_size;  // of an accumulator
  ConvertFn convert;     // null if x is of the compute type
};

// Sums of sums: level 0 takes rows; a level that has taken kCascade of them is
// merged into the one above. Keeps error growth logarithmic, order fixed.
class Cascade {
 public:
  Cascade(const Job& job, int64_t width, char* memory)
      : job_(job), width_(width), memory_(memory) {}

  static int64_t Bytes(const Job& job, int64_t width) {
    return kLevels * width * job.compute_size;
  }

  // A row of elements of x, of which there may be fewer than the width.
  void AddElements(const void* row, int64_t n) {
    if (job_.op->merge_elements == job_.op->merge) return AddAt(0, row, n);
    if (count_[0] == 0) job_.op->fill(Row(0), width_);
    job_.op->merge_elements(row, Row(0), n);
    Count(0);
  }
  void Add(const void* row) { AddAt(0, row, width_); }

  // Merges all levels into `acc`.
  void Finish(void* acc) {
    bool first = true;
    for (int level = 0; level < kLevels; ++level) {
      if (count_[level] == 0) continue;
      if (first) {
        std::memcpy(acc, Row(level), width_ * job_.compute_size);
      } else {
        job_.op->merge(Row(level), acc, width_);
      }
      first = false;
    }
    if (first) job_.op->fill(acc, width_);
  }

 private:
  char* Row(int level) { return memory_ + level * width_ * job_.compute_size; }

  void AddAt(int level, const void* row, int64_t n) {
    if (count_[level] == 0) {
      if (n < width_) job_.op->fill(Row(level), width_);
      std::memcpy(Row(level), row, n * job_.compute_size);
    } else {
      job_.op->merge(row, Row(level), n);
    }
    Count(level);
  }

  void Count(int level) {
    if (++count_[level] == kCascade && level + 1 < kLevels) {
      AddAt(level + 1, Row(level), width_);
      count_[level] = 0;
    }
  }

  const Job& job_;
  const int64_t width_;
  char* const memory_;
  int64_t count_[kLevels] = {};
};

struct Scratch {
  alignas(64) char raw[kBlockBytes];
  alignas(64) char block[kBlockBytes];
  alignas(64) char cascade[kLevels * 16];
};

// n elements that lie `stride` bytes apart, in the compute type.
const void* LoadRun(const Job& job, const char* source, int64_t stride,
                    int64_t n, Scratch* s) {
  if (stride != job.size) {
    char* gathered = job.convert != nullptr ? s->raw : s->block;
    GatherRun(source, stride, job.size, n, gathered);
    source = gathered;
  }
  if (job.convert == nullptr) return source;
  job.convert(source, s->block, n);
  return s->block;
}

// Inner strategy: the elements of one result lie close together
// -----------------

// FoldRange of contiguous runs that lie apart.
void FoldRuns(const Job& job, char* x, int64_t begin, int64_t end, Scratch* s,
              char* acc) {
  IterationPlan here = job.reduced;
  here.data[0] = x;
  IterationCursor at;
  at.Seek(here, begin);
  Cascade cascade(job, 1, s->cascade);
  alignas(16) char value[16];
  while (begin < end) {
    const int64_t n =
        std::min({kFold, end - begin, here.dims[0] - at.index[0]});
    job.op->fold_elements(at.data[0], 0, n, 1, value);
    cascade.Add(value);
    at.Advance(here, n);
    begin += n;
  }
  cascade.Finish(acc);
}

// Folds elements [begin, end) of the result whose first element is at `x`.
void FoldRange(const Job& job, char* x, int64_t begin, int64_t end, Scratch* s,
               char* acc) {
  const IterationPlan& plan = job.reduced;
  const bool direct = job.convert == nullptr && plan.IsLinear(0, job.size);
  // Long contiguous runs are folded one by one where they lie.
  const bool runs = job.convert == nullptr && !direct &&
                    plan.strides[0][0] == job.size && plan.dims[0] >= kLongRun;
  if (runs) return FoldRuns(job, x, begin, end, s, acc);
  const int64_t piece = direct ? kFold : kBlock;
  if (direct && end - begin <= piece) {
    job.op->fold_elements(x + begin * job.size, 0, end - begin, 1, acc);
    return;
  }
  IterationPlan here = plan;
  here.data[0] = x;
  IterationCursor at;
  Cascade cascade(job, 1, s->cascade);
  alignas(16) char value[16];
  for (int64_t i = begin; i < end; i += piece) {
    const int64_t n = std::min(piece, end - i);
    const void* in = x + i * job.size;
    if (!direct && plan.rank == 1) {
      in = LoadRun(job, x + i * plan.strides[0][0], plan.strides[0][0], n, s);
    } else if (!direct) {
      at.Seek(here, i);
      char* gathered = job.convert != nullptr ? s->raw : s->block;
      GatherBlock(here, at, 0, job.size, n, gathered);
      if (job.convert != nullptr) job.convert(gathered, s->block, n);
      in = s->block;
    }
    job.op->fold_elements(in, 0, n, 1, value);
    cascade.Add(value);
  }
  cascade.Finish(acc);
}

// Results [begin, end) of short contiguous rows: many in one call of the loop.
void FoldShortRows(const Job& job, int64_t begin, int64_t end) {
  const IterationPlan& kept = job.kept;
  const int64_t n = job.reduced.numel;
  IterationCursor at;
  at.Seek(kept, begin);
  while (begin < end) {
    const int64_t rows = std::min(kept.dims[0] - at.index[0], end - begin);
    job.op->fold_elements(at.data[1], kept.strides[1][0], n, rows, at.data[0]);
    at.Advance(kept, rows);
    begin += rows;
  }
}

void ReduceInner(const Job& job) {
  const IterationPlan& kept = job.kept;
  const int64_t n = job.reduced.numel, results = kept.numel;
  const bool direct =
      job.convert == nullptr && job.reduced.IsLinear(0, job.size);
  if (direct && n <= kFold && kept.strides[0][0] == job.compute_size) {
    parallel_for(0, results, std::max<int64_t>(1, kSerialCost / n),
                 [&](int64_t b, int64_t e) { FoldShortRows(job, b, e); });
    return;
  }
  const int64_t tasks_each = CeilDiv(n, kTask);
  if (tasks_each == 1) {
    parallel_for(0, results, std::max<int64_t>(1, kSerialCost / n),
                 [&](int64_t b, int64_t e) {
                   Scratch scratch;
                   IterationCursor at;
                   at.Seek(kept, b);
                   for (; b < e; ++b, at.Advance(kept, 1)) {
                     FoldRange(job, at.data[1], 0, n, &scratch, at.data[0]);
                   }
                 });
    return;
  }
  // Partial results [results, tasks_each], then folded in their order.
  const AlignedBytes partial =
      AllocateBytes(results * tasks_each * job.compute_size);
  parallel_for(0, results * tasks_each, 1, [&](int64_t b, int64_t e) {
    Scratch scratch;
    IterationCursor at;
    for (; b < e; ++b) {
      at.Seek(kept, b / tasks_each);
      const int64_t first = b % tasks_each * kTask;
      FoldRange(job, at.data[1], first, std::min(n, first + kTask), &scratch,
                partial.get() + b * job.compute_size);
    }
  });
  IterationCursor at;
  at.Seek(kept, 0);
  const int64_t stride = tasks_each * job.compute_size;
  for (int64_t r = 0; r < results; ++r, at.Advance(kept, 1)) {
    job.op->fold(partial.get() + r * stride, 0, tasks_each, 1, at.data[0]);
  }
}

// Outer strategy: results lie close together, as rows to be added up
// ------------

// How rows are walked: `width` results at a time, rows in tasks of `rows`.
struct RowPlan {
  int64_t width;   // results in a task
  int64_t strips;  // tasks that share kept.dims[0]
  int64_t rows;    // in a task
  int64_t tasks;   // over the rows
};

RowPlan PlanRows(const Job& job) {
  RowPlan p;
  const int64_t inner = job.kept.dims[0];
  // Wide strips where rows are used in place: fewer jumps between pages.
  const bool in_place =
      job.convert == nullptr && job.kept.strides[1][0] == job.size;
  p.width = std::min(inner, in_place ? kWideStrip : kBlock);
  p.strips = CeilDiv(inner, p.width);
  p.rows = std::max<int64_t>(kCascade, CeilDiv(2 * kTask, p.width));
  p.tasks = std::max<int64_t>(1, CeilDiv(job.reduced.numel, p.rows));
  return p;
}

// Rows of few elements that lie one behind the other are merged several at a
// time: `group` rows make one wide row.
int64_t RowGroup(const Job& job, int64_t width) {
  const bool dense = job.reduced.rank == 1 && job.convert == nullptr &&
                     width == job.kept.dims[0] &&
                     job.kept.strides[1][0] == job.size &&
                     job.reduced.strides[0][0] == width * job.size;
  return dense ? std::max<int64_t>(1, 256 / width) : 1;
}

// Merges rows [begin, end) of `width` results that begin at `x` into acc.
void MergeRows(const Job& job, char* x, int64_t width, int64_t begin,
               int64_t end, Scratch* s, char* acc) {
  const int64_t stride = job.kept.strides[1][0];
  const int64_t group = RowGroup(job, width);
  const AlignedBytes memory = AllocateBytes(Cascade::Bytes(job, width * group) +
                                            width * group * job.compute_size);
  Cascade cascade(job, width * group, memory.get());
  if (group > 1) {
    char* wide = memory.get() + Cascade::Bytes(job, width * group);
    for (int64_t row = begin; row < end; row += group) {
      const int64_t n = std::min(group, end - row) * width;
      cascade.AddElements(x + row * width * job.size, n);
    }
    cascade.Finish(wide);
    std::memcpy(acc, wide, width * job.compute_size);
    const int64_t filled = std::min(group, end - begin);
    for (int64_t k = 1; k < filled; ++k) {
      job.op->merge(wide + k * width * job.compute_size, acc, width);
    }
    return;
  }
  IterationPlan here = job.reduced;
  here.data[0] = x;
  IterationCursor at;
  at.Seek(here, begin);
  for (int64_t row = begin; row < end; ++row, at.Advance(here, 1)) {
    cascade.AddElements(LoadRun(job, at.data[0], stride, width, s), width);
  }
  cascade.Finish(acc);
}

void ReduceOuter(const Job& job) {
  const IterationPlan& kept = job.kept;
  const RowPlan p = PlanRows(job);
  const int64_t inner = kept.dims[0], outer = kept.numel / inner;
  const int64_t rows = job.reduced.numel;
  // With one task over the rows, accumulators that lie together are written
  // directly.
  const bool direct = p.tasks == 1 && kept.strides[0][0] == job.compute_size;
  const AlignedBytes partial =
      AllocateBytes(direct ? 0 : outer * p.tasks * inner * job.compute_size);
  const int64_t work = std::min(p.rows, rows) * p.width;
  parallel_for(
      0, outer * p.strips * p.tasks, std::max<int64_t>(1, kSerialCost / work),
      [&](int64_t b, int64_t e) {
        Scratch scratch;
        IterationCursor at;
        for (; b < e; ++b) {
          const int64_t strip = b % p.strips, rest = b / p.strips;
          const int64_t task = rest % p.tasks, o = rest / p.tasks;
          const int64_t column = strip * p.width;
          const int64_t width = std::min(p.width, inner - column);
          at.Seek(kept, o * inner + column);
          char* acc =
              direct ? at.data[0]
                     : partial.get() + ((o * p.tasks + task) * inner + column) *
                                           job.compute_size;
          const int64_t first = task * p.rows;
          MergeRows(job, at.data[1], width, first,
                    std::min(rows, first + p.rows), &scratch, acc);
        }
      });
  if (direct) return;
  IterationCursor at;
  for (int64_t o = 0; o < outer; ++o) {
    char* first = partial.get() + o * p.tasks * inner * job.compute_size;
    for (int64_t task = 1; task < p.tasks; ++task) {
      job.op->merge(first + task * inner * job.compute_size, first, inner);
    }
    at.Seek(kept, o * inner);
    ScatterRun(first, job.compute_size, inner, at.data[0], kept.strides[0][0]);
  }
}

void MakeJob(const Reduction& op, const Tensor& x, uint64_t axes, void* acc,
             Job* job) {
  job->op = &op;
  job->size = ItemSize(x.dtype());
  job->compute_size = ItemSize(op.compute);
  job->convert = FindConvert(x.dtype(), op.compute);
  DimVector kept, reduced, acc_strides, kept_strides, reduced_strides;
  for (int d = 0; d < x.rank(); ++d) {
    const bool r = (axes >> d & 1) != 0;
    (r ? reduced : kept).push_back(x.size(d));
    (r ? reduced_strides : kept_strides).push_back(x.strides()[d] * job->size);
  }
  acc_strides.resize(kept.size());
  int64_t step = job->compute_size;
  for (int d = static_cast<int>(kept.size()) - 1; d >= 0; --d) {
    acc_strides[d] = step;
    step *= kept[d];
  }
  char* data[] = {static_cast<char*>(acc), x.data<char>()};
  const int64_t* kept_pair[] = {acc_strides.data(), kept_strides.data()};
  const int64_t* reduced_one[] = {reduced_strides.data()};
  cpu::PlanIteration(kept, 2, data, kept_pair, &job->kept);
  cpu::PlanIteration(reduced, 1, data + 1, reduced_one, &job->reduced);
}

int64_t Magnitude(int64_t v) { return v < 0 ? -v : v; }

}  // namespace

uint64_t ReducedAxes(const Tensor& x, std::span<const int64_t> axis) {
  uint64_t axes = 0;
  if (axis.empty()) {
    return x.rank() == 64 ? ~uint64_t{0} : (uint64_t{1} << x.rank()) - 1;
  }
  if (x.rank() == 0) return 0;
  for (int64_t a : axis) axes |= uint64_t{1} << (a < 0 ? a + x.rank() : a);
  return axes;
}

int64_t ReducedCount(const Tensor& x, uint64_t axes) {
  int64_t n = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (axes >> d & 1) n *= x.size(d);
  }
  return n;
}

void Reduce(const Reduction& op, const Tensor& x, uint64_t axes, void* acc) {
  int64_t results = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (!(axes >> d & 1)) results *= x.size(d);
  }
  if (results == 0) return;
  if (x.numel() == 0) {
    op.fill(acc, results);
    return;
  }
  if (results == 1 && x.is_contiguous() && x.numel() <= kFold &&
      x.dtype() == op.compute) {
    // As ReduceInner would.
    op.fold_elements(x.raw_data(), 0, x.numel(), 1, acc);
    return;
  }
  Job job;
  MakeJob(op, x, axes, acc, &job);
  const int64_t kept_step = Magnitude(job.kept.strides[1][0]);
  const int64_t reduced_step = Magnitude(job.reduced.strides[0][0]);
  const bool results_close = job.kept.dims[0] > 1 && kept_step != 0 &&
                             (job.reduced.dims[0] == 1 || reduced_step == 0 ||
                              kept_step < reduced_step);
  if (results_close) {
    ReduceOuter(job);
  } else {
    ReduceInner(job);
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
