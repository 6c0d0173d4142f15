#include "tensor/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tensor/cpu_count.h"
#include "tensor/denormals.h"
#include "tensor/error.h"
#include "tensor/execution.h"
#include "tensor/interrupt.h"

namespace proa::inline v0 {
namespace {

// In a child of fork OpenMP's threads are gone, and the runtime waits for them
// for ever; such a process works alone.
constinit std::atomic<bool> in_forked_child{false};

// 0: not yet asked for.
constinit std::atomic<int> num_threads{0};

constinit thread_local bool in_region
    __attribute__((tls_model("initial-exec"))) = false;

int InitialThreads() {
  // OpenMP has read OMP_NUM_THREADS and the affinity, but knows no cgroup.
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  const int n = wanted != nullptr && *wanted != '\0' ? omp_get_max_threads()
                                                     : AvailableCpus();
  pthread_atfork(nullptr, nullptr, [] {
    in_forked_child.store(true, std::memory_order_relaxed);
    omp_set_num_threads(1);  // for oneDNN
  });
  int expected = 0;
  num_threads.compare_exchange_strong(expected, n);
  return num_threads.load();
}

class RegionScope {
 public:
  RegionScope() { in_region = true; }
  ~RegionScope() { in_region = false; }
};

// Calls run(i) for each i in [0, pieces), on as many threads.
template <typename F>
void RunPieces(int pieces, F run) {
  const uint32_t mode = FloatMode();
#if defined(__SANITIZE_THREAD__)
  // The sanitizer does not see how libgomp orders its threads: use others.
  std::vector<std::thread> threads;
  for (int i = 1; i < pieces; ++i) {
    threads.emplace_back([&run, i, mode] {
      const WorkerFloatScope scope(mode);
      run(i);
    });
  }
  run(0);
  for (std::thread& t : threads) t.join();
#else
#pragma omp parallel num_threads(pieces)
  {
    const int first = omp_get_thread_num();
    std::optional<WorkerFloatScope> scope;
    if (first > 0) scope.emplace(mode);
    // OpenMP may give fewer threads than asked for.
    for (int i = first; i < pieces; i += omp_get_num_threads()) {
      run(i);
    }
  }
#endif
}

}  // namespace

int AvailableCpus() {
  // No static of C++: counting reads files, and a child of a fork would wait
  // for ever for the thread of its parent that does.
  static constinit std::atomic<int> cpus = 0;
  int n = cpus.load(std::memory_order_relaxed);
  if (n == 0) cpus.store(n = CountAvailableCpus(), std::memory_order_relaxed);
  return n;
}

int GetNumThreads() {
  const Execution* execution = CurrentExecution();
  if (execution != nullptr && execution->num_threads > 0) {
    return execution->num_threads;
  }
  const int n = num_threads.load(std::memory_order_relaxed);
  return n > 0 ? n : InitialThreads();
}

void SetNumThreads(int n) {
  PROA_REQUIRE(n >= 1, "set_num_threads: ", n, " is too few; use 1 or more");
  GetNumThreads();  // installs the fork handler
  num_threads.store(n);
  omp_set_num_threads(n);  // what oneDNN asks, on this thread
}

bool InParallelRegion() { return in_region; }

namespace parallel_internal {

int PieceCount(int64_t n, int64_t grain) {
  const int64_t worth = n / std::max<int64_t>(grain, 1);
  if (worth <= 1) return 1;
  if (in_region || in_forked_child.load(std::memory_order_relaxed) ||
      omp_in_parallel()) {
    return 1;
  }
  return static_cast<int>(std::min<int64_t>(worth, GetNumThreads()));
}

namespace {

void RunPart(int64_t begin, int64_t end, int pieces, Body body, void* context) {
  // The piece of the lowest range whose body threw, and what it threw.
  std::mutex error_mutex;
  std::exception_ptr error;
  int error_piece = pieces;
  const int64_t each = (end - begin) / pieces, more = (end - begin) % pieces;
  RunPieces(pieces, [&](int i) {
    RegionScope scope;
    const int64_t b = begin + i * each + std::min<int64_t>(i, more);
    try {
      body(context, b, b + each + (i < more ? 1 : 0));
    } catch (...) {
      std::lock_guard lock(error_mutex);
      if (i < error_piece) {
        error = std::current_exception();
        error_piece = i;
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

// Between parts of a long range a user may interrupt: there are at most 1024,
// and of the cheapest work, the shortest is worth some 10 ms.
constexpr int64_t kShortestPart = int64_t{1} << 26;
constexpr int64_t kMostParts = 1024;

}  // namespace

void Run(int64_t begin, int64_t end, int pieces, Body body, void* context) {
  const int64_t part = std::max(kShortestPart, (end - begin) / kMostParts);
  for (; end - begin > part; begin += part) {
    RunPart(begin, begin + part, pieces, body, context);
    internal::LookForInterrupt();
  }
  RunPart(begin, end, pieces, body, context);
}

}  // namespace parallel_internal
}  // namespace proa::inline v0
