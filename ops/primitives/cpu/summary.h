// Summarize: folds dims of a strided tensor into results that are made of more
// than one running number (count, mean and squared distances; the largest
// element and a sum of exponentials), in one pass over memory. What one number
// can do is done by reduce.h.
//
// Like there the work is cut by sizes alone and partial results meet in a fixed
// order, so threads do not change a bit; elements are converted to the type
// that is computed in block by block.
//
//   Summarize<MomentsOf<float>>(x, axes, [&](int64_t first, const
//       MomentsOf<float>::State* states, int64_t n) { ... });
//
// `Op` has
//   Compute                    the type that elements are converted to
//   State                      of some elements of one result; State() of none
//   AddRun(x, n, &state)       takes in n >= 1 contiguous elements
//   AddTwoRuns(x, &state, y, &other, n)
//                              the same of two runs, if that is faster; or
//                              there is none
//   Merge(later, &state)       takes in a state
//   Columns                    states of up to kColumns results side by side:
//     Start(width)
//     Add(rows, count, width, ahead)
//                              takes in count <= kRows rows; only the last call
//                              may bring fewer than kRows; the next ones lie
//                              `ahead` bytes after these (0: unknown)
//     Finish(width, states)
// For sources that are compiled once per instruction set.
#ifndef PROA_OPS_PRIMITIVES_CPU_SUMMARY_H_
#define PROA_OPS_PRIMITIVES_CPU_SUMMARY_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/cpu/iteration.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace summary {

// Results side by side, and the rows of them that are taken in together.
inline constexpr int64_t kColumns = kBlock;
inline constexpr int kRows = 4;

// What is fixed for a call. `kept` walks the results (operand 0 is no memory,
// it gives the order) and the first element of each in x (operand 1); `reduced`
// walks the elements of one result.
struct Job {
  cpu::IterationPlan kept;
  cpu::IterationPlan reduced;
  int64_t size;       // of an element of x
  ConvertFn convert;  // null if x is of the compute type
  bool columns;       // results lie closer together than the elements of one
  int64_t width;      // results that a task works on at most
  // Elements (rows) of a task: part of the result's definition.
  int64_t task;
  int64_t tasks;  // of one result
};

int64_t CountResults(const Tensor& x, uint64_t axes);
// For x of some elements.
void MakeJob(const Tensor& x, uint64_t axes, DType compute, Job* job);

// Calls body(begin, end) for parts of [0, width), and asks for those of the
// rows to come before.
template <class T, class F>
void WithRowsAhead(const T* const* rows, int count, int64_t width,
                   int64_t ahead, F&& body) {
  constexpr int64_t kPart = 128, kLine = 64 / sizeof(T);
  for (int64_t j = 0; j < width; j += kPart) {
    const int64_t end = std::min(width, j + kPart);
    for (int r = 0; ahead != 0 && r < count; ++r) {
      for (int64_t i = j; i < end; i += kLine) {
        __builtin_prefetch(reinterpret_cast<const char*>(rows[r] + i) + ahead);
      }
    }
    body(j, end);
  }
}

// Buffers of one thread, for elements that cannot be used where they lie.
template <class T>
struct Buffers {
  alignas(64) char raw[kBlockBytes];
  alignas(64) T block[kRows][kColumns];
};

// Rows of few columns that lie one behind the other are taken as one: the
// number of them.
int64_t RowGroup(const Job& job);

// Elements [begin, end) of the result whose first element is at `x`.
template <class Op>
typename Op::State OfRange(const Job& job, char* x, int64_t begin, int64_t end,
                           Buffers<typename Op::Compute>* b) {
  using T = typename Op::Compute;
  constexpr int64_t kFold = 4096, kLongRun = 128;
  cpu::IterationPlan plan = job.reduced;
  plan.data[0] = x;
  const int64_t stride = plan.strides[0][0];
  const bool direct = job.convert == nullptr && stride == job.size;
  const bool runs = plan.rank == 1 || plan.dims[0] >= kLongRun;
  cpu::IterationCursor at;
  at.Seek(plan, begin);
  typename Op::State state;
  while (begin < end) {
    int64_t n = std::min(direct ? kFold : kBlock, end - begin);
    if (runs) n = std::min(n, plan.dims[0] - at.index[0]);
    const char* source = at.data[0];
    if (!runs || stride != job.size) {
      char* to = job.convert != nullptr ? b->raw
                                        : reinterpret_cast<char*>(b->block[0]);
      if (runs) {
        GatherRun(source, stride, job.size, n, to);
      } else {
        GatherBlock(plan, at, 0, job.size, n, to);
      }
      source = to;
    }
    if (job.convert != nullptr) {
      job.convert(source, b->block[0], n);
      source = reinterpret_cast<const char*>(b->block[0]);
    }
    Op::AddRun(reinterpret_cast<const T*>(source), n, &state);
    begin += n;
    if (runs) {
      at.Advance(plan, n);
    } else if (begin < end) {
      at.Seek(plan, begin);
    }
  }
  return state;
}

template <class Op>
inline constexpr bool kTakesTwo = requires(const typename Op::Compute* x,
                                           typename Op::State* state) {
  Op::AddTwoRuns(x, state, x, state, int64_t{});
};

// n elements of the results at x and at y, which lie one behind the other there
// in the compute type.
template <class Op>
void OfTwoRuns(const char* x, typename Op::State* of_x, const char* y,
               typename Op::State* of_y, int64_t n) {
  using T = typename Op::Compute;
  constexpr int64_t kFold = 4096;
  for (int64_t i = 0; i < n; i += kFold) {
    Op::AddTwoRuns(reinterpret_cast<const T*>(x) + i, of_x,
                   reinterpret_cast<const T*>(y) + i, of_y,
                   std::min(kFold, n - i));
  }
}

// Rows [begin, end) of the `width` results whose first elements are at `x` on.
template <class Op>
void OfRows(const Job& job, char* x, int64_t width, int64_t begin, int64_t end,
            Buffers<typename Op::Compute>* b, typename Op::Columns* columns,
            typename Op::State* states) {
  using T = typename Op::Compute;
  cpu::IterationPlan plan = job.reduced;
  plan.data[0] = x;
  const int64_t stride = job.kept.strides[1][0];
  cpu::IterationCursor at;
  at.Seek(plan, begin);
  columns->Start(width);
  const T* rows[kRows];
  while (begin < end) {
    const int count = static_cast<int>(std::min<int64_t>(kRows, end - begin));
    for (int r = 0; r < count; ++r, at.Advance(plan, 1)) {
      const char* source = at.data[0];
      char* block = reinterpret_cast<char*>(b->block[r]);
      if (stride != job.size) {
        char* to = job.convert != nullptr ? b->raw : block;
        GatherRun(source, stride, job.size, width, to);
        source = to;
      }
      if (job.convert != nullptr) {
        job.convert(source, block, width);
        source = block;
      }
      rows[r] = reinterpret_cast<const T*>(source);
    }
    begin += count;
    // The next rows come while these are worked on.
    const bool in_place = plan.rank == 1 && rows[0] != b->block[0];
    columns->Add(rows, count, width,
                 in_place && begin < end ? count * plan.strides[0][0] : 0);
  }
  columns->Finish(width, states);
}

// The same for rows that lie one behind the other, `group` of them as one.
template <class Op>
void OfGroupedRows(char* x, int64_t size, int64_t width, int64_t group,
                   int64_t begin, int64_t end, typename Op::Columns* columns,
                   typename Op::State* wide, typename Op::State* states) {
  using T = typename Op::Compute;
  std::fill_n(states, width, typename Op::State());
  const auto merge = [&](int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < width; ++j) {
        Op::Merge(wide[r * width + j], &states[j]);
      }
    }
  };
  const T* first = reinterpret_cast<const T*>(x + begin * width * size);
  const int64_t full = (end - begin) / group, rest = (end - begin) % group;
  if (full > 0) {
    columns->Start(group * width);
    const T* rows[kRows];
    for (int64_t i = 0; i < full; i += kRows) {
      const int count = static_cast<int>(std::min<int64_t>(kRows, full - i));
      for (int r = 0; r < count; ++r) rows[r] = first + (i + r) * group * width;
      columns->Add(rows, count, group * width,
                   kRows * group * width * static_cast<int64_t>(sizeof(T)));
    }
    columns->Finish(group * width, wide);
    merge(group);
  }
  if (rest > 0) {
    const T* row = first + full * group * width;
    columns->Start(rest * width);
    columns->Add(&row, 1, rest * width, 0);
    columns->Finish(rest * width, wide);
    merge(rest);
  }
}

// What a thread needs to work on tasks.
template <class Op>
struct Worker {
  using T = typename Op::Compute;
  using State = typename Op::State;
  struct BuffersAndColumns {
    Buffers<T> buffers;
    typename Op::Columns columns;
  };

  explicit Worker(const Job& j)
      : job(j),
        group(RowGroup(j)),
        memory(Tensor::Empty(
            {static_cast<int64_t>(j.columns ? sizeof(BuffersAndColumns)
                                            : sizeof(Buffers<T>))},
            DType::kUInt8)),
        buffers(memory.data<Buffers<T>>()),
        columns(j.columns ? &memory.data<BuffersAndColumns>()->columns
                          : nullptr),
        wide(group > 1 ? group * j.kept.dims[0] : 0) {}

  // `count` results from `first` on, which lie along kept.dims[0].
  void Run(int64_t first, int64_t count, int64_t task, State* states) {
    const int64_t begin = task * job.task;
    const int64_t end = std::min(job.reduced.numel, begin + job.task);
    cpu::IterationCursor at;
    at.Seek(job.kept, first);
    if constexpr (kTakesTwo<Op>) {
      if (IsLinear() && end - begin >= kLeastForTwo)
        return RunByTwo(at, count, begin, end, states);
    }
    if (!job.columns) {
      for (int64_t i = 0; i < count; ++i, at.Advance(job.kept, 1)) {
        states[i] = OfRange<Op>(job, at.data[1], begin, end, buffers);
      }
    } else if (group > 1) {
      OfGroupedRows<Op>(at.data[1], job.size, count, group, begin, end, columns,
                        wide.data(), states);
    } else {
      OfRows<Op>(job, at.data[1], count, begin, end, buffers, columns, states);
    }
  }

  // Fewer elements of a result are not worth it.
  static constexpr int64_t kLeastForTwo = 512;

  bool IsLinear() const {
    return !job.columns && job.convert == nullptr && job.reduced.rank == 1 &&
           job.reduced.strides[0][0] == job.size;
  }

  // Elements [begin, end) of results, by two of them or by halves of one that
  // is long.
  void RunByTwo(cpu::IterationCursor at, int64_t count, int64_t begin,
                int64_t end, State* states) {
    constexpr int64_t kLong = 8192;
    const int64_t half = count / 2, n = end - begin;
    cpu::IterationCursor later = at;
    later.Advance(job.kept, half);
    for (int64_t i = 0; i < half; ++i) {
      states[i] = states[half + i] = State();
      OfTwoRuns<Op>(at.data[1] + begin * job.size, &states[i],
                    later.data[1] + begin * job.size, &states[half + i], n);
      at.Advance(job.kept, 1);
      later.Advance(job.kept, 1);
    }
    if (2 * half == count) return;
    State& last = states[count - 1];
    if (n < kLong) {
      last = OfRange<Op>(job, later.data[1], begin, end, buffers);
      return;
    }
    const char* const x = later.data[1] + begin * job.size;
    State behind;
    last = State();
    OfTwoRuns<Op>(x, &last, x + n / 2 * job.size, &behind, n / 2);
    if (n % 2 == 1) {
      Op::AddRun(reinterpret_cast<const T*>(x + (n - 1) * job.size), 1,
                 &behind);
    }
    Op::Merge(behind, &last);
  }

  const Job& job;
  const int64_t group;
  const Tensor memory;  // of the next two, which are plain arrays
  Buffers<T>* const buffers;
  typename Op::Columns* const columns;
  std::vector<State> wide;
};

}  // namespace summary

// Calls finish(first, states, n) for runs of results, which are numbered in
// row-major order of the dims that are kept; from several threads at once.
// `cost` of an element, where 1 is an addition.
template <class Op, class Finish>
void Summarize(const Tensor& x, uint64_t axes, int64_t cost, Finish finish) {
  using State = typename Op::State;
  const int64_t results = summary::CountResults(x, axes);
  if (results == 0) return;
  if (x.numel() == 0) {
    const std::vector<State> none(results);
    return finish(int64_t{0}, none.data(), results);
  }
  summary::Job job;
  summary::MakeJob(x, axes, kDTypeOf<typename Op::Compute>, &job);
  // Strips of results that a task works on together.
  const int64_t inner = job.kept.dims[0];
  const int64_t width = std::min(inner, job.width);
  const int64_t strips = (inner + width - 1) / width;
  const int64_t pieces = results / inner * strips;
  const auto strip = [&](int64_t piece, int64_t* first) {
    const int64_t column = piece % strips * width;
    *first = piece / strips * inner + column;
    return std::min(width, inner - column);
  };
  const int64_t each = std::min(job.task, job.reduced.numel);
  const int64_t grain = std::max<int64_t>(
      1, kSerialCost / cost / std::max<int64_t>(1, width * each));
  // All tasks of the results side by side, if there are several.
  std::vector<State> partial(job.tasks > 1 ? results * job.tasks : 0);
  parallel_for(0, pieces * job.tasks, grain, [&](int64_t b, int64_t e) {
    summary::Worker<Op> worker(job);
    std::vector<State> states(job.tasks > 1 ? 0 : width);
    for (; b < e; ++b) {
      int64_t first;
      const int64_t n = strip(b % pieces, &first);
      const int64_t task = b / pieces;
      State* to = job.tasks > 1 ? partial.data() + task * results + first
                                : states.data();
      worker.Run(first, n, task, to);
      if (job.tasks == 1) finish(first, to, n);
    }
  });
  if (job.tasks == 1) return;
  // Neighbours are merged pairwise, so that errors grow with the logarithm.
  parallel_for(0, results, std::max<int64_t>(1, kSerialCost / (8 * job.tasks)),
               [&](int64_t b, int64_t e) {
                 for (int64_t step = 1; step < job.tasks; step *= 2) {
                   for (int64_t t = 0; t + step < job.tasks; t += 2 * step) {
                     State* into = partial.data() + t * results;
                     for (int64_t i = b; i < e; ++i) {
                       Op::Merge(into[step * results + i], &into[i]);
                     }
                   }
                 }
                 finish(b, partial.data() + b, e - b);
               });
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_SUMMARY_H_
