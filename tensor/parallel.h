// parallel_for: a loop split over the threads of the process.
//
//   parallel_for(0, n, /*grain=*/4096, [&](int64_t begin, int64_t end) {
//     for (int64_t i = begin; i < end; ++i) y[i] = x[i] + 1;
//   });
//
// The threads are OpenMP's, shared with oneDNN: one pool a process. How a range
// is split depends on the number of threads, so a body whose result depends on
// where a piece ends (a sum) must use pieces of its own fixed size: see
// parallel_chunks.
#ifndef PROA_TENSOR_PARALLEL_H_
#define PROA_TENSOR_PARALLEL_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace proa::inline v0 {

// Threads that parallel_for may use. At first OMP_NUM_THREADS, or else the CPUs
// of the affinity mask, or what the cgroup's quota is worth if that is less.
// Inside of an ExecutionScope that says so: its number.
int GetNumThreads();
// For the whole process, oneDNN included; a scope's number stays. Throws Error
// unless n >= 1.
void SetNumThreads(int n);

// The CPUs that this process may use: affinity and cgroup quota, at least 1.
int AvailableCpus();

// True on a thread that runs a piece of a parallel loop, where others run
// serially.
bool InParallelRegion();

namespace parallel_internal {
using Body = void (*)(void* context, int64_t begin, int64_t end);
// Number of pieces that [0, n) is worth; 1: do it here.
int PieceCount(int64_t n, int64_t grain);
void Run(int64_t begin, int64_t end, int pieces, Body body, void* context);
}  // namespace parallel_internal

// Calls body(b, e) for disjoint ranges that cover [begin, end); not at all if
// that is empty. No piece is smaller than `grain` >= 1 (but the last), which
// should be worth 10 us or more of work; so a range below 2 * grain runs here.
// Also run here: nested loops, and all loops in a child of fork (where OpenMP's
// threads do not exist). An exception of a body is thrown here after all pieces
// are done; of several, the one of the lowest range.
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& body) {
  if (begin >= end) return;
  const int pieces = parallel_internal::PieceCount(end - begin, grain);
  if (pieces <= 1) {
    body(begin, end);
    return;
  }
  using Function = std::remove_reference_t<F>;
  parallel_internal::Run(
      begin, end, pieces,
      [](void* context, int64_t b, int64_t e) {
        (*static_cast<Function*>(context))(b, e);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Splits [0, n) into chunks of `chunk` elements, the same for any number of
// threads, and calls body(index, begin, end) for each: for sums into one slot a
// chunk, added up in order afterwards.
template <typename F>
void parallel_chunks(int64_t n, int64_t chunk, F&& body) {
  const int64_t chunks = n <= 0 ? 0 : (n - 1) / chunk + 1;
  parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      body(i, i * chunk, std::min(n, (i + 1) * chunk));
    }
  });
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_PARALLEL_H_
