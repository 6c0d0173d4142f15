#include "tensor/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <exception>

#include "tensor/cpu_count.h"
#include "tensor/error.h"

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

#if defined(__SANITIZE_THREAD__)
// libgomp is not instrumented: tell the sanitizer of the fork and the join.
class Handshake {
 public:
  void Start() { started_.store(1, std::memory_order_release); }
  void Enter() { started_.load(std::memory_order_acquire); }
  void Leave() { done_.fetch_add(1, std::memory_order_acq_rel); }
  void Join() { done_.load(std::memory_order_acquire); }

 private:
  std::atomic<int> started_{0}, done_{0};
};
#else
struct Handshake {
  void Start() {}
  void Enter() {}
  void Leave() {}
  void Join() {}
};
#endif

}  // namespace

int AvailableCpus() {
  static const int cpus = CountAvailableCpus();
  return cpus;
}

int GetNumThreads() {
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

void Run(int64_t begin, int64_t end, int pieces, Body body, void* context) {
  // The piece of the lowest range whose body threw, and what it threw.
  std::exception_ptr error;
  int error_piece = pieces;
  Handshake handshake;
  handshake.Start();
  const int64_t each = (end - begin) / pieces, more = (end - begin) % pieces;
#pragma omp parallel num_threads(pieces)
  {
    handshake.Enter();
    RegionScope scope;
    // OpenMP may give fewer threads than asked for.
    for (int i = omp_get_thread_num(); i < pieces; i += omp_get_num_threads()) {
      const int64_t b = begin + i * each + std::min<int64_t>(i, more);
      try {
        body(context, b, b + each + (i < more ? 1 : 0));
      } catch (...) {
#pragma omp critical(proa_parallel_error)
        if (i < error_piece) {
          error = std::current_exception();
          error_piece = i;
        }
      }
    }
    handshake.Leave();
  }
  handshake.Join();
  if (error) std::rethrow_exception(error);
}

}  // namespace parallel_internal
}  // namespace proa::inline v0
