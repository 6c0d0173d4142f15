// Ranks of a test, each a thread.
#ifndef PROA_DISTRIBUTED_THREAD_RANKS_H_
#define PROA_DISTRIBUTED_THREAD_RANKS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "distributed/fabric.h"
#include "distributed/links.h"

namespace proa::inline v0::distributed {

// Runs `body(fabric)` on a thread for each of `n` ranks of a job of its own;
// what each threw, "" where it threw nothing.
inline std::vector<std::string> RunThreads(
    int n, const std::function<void(std::shared_ptr<Fabric>)>& body) {
  static std::atomic<int> jobs{0};
  const std::string name = "threads" + std::to_string(jobs++);
  std::vector<std::string> errors(n);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(NewThreadFabric(name, rank, n));
      } catch (const std::exception& e) {
        errors[rank] = e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return errors;
}

inline void ExpectNone(const std::vector<std::string>& errors) {
  for (const std::string& e : errors) EXPECT_EQ(e, "");
}

// The same with links among all of them.
inline std::vector<std::string> RunLinked(
    int n, bool shared, const std::function<void(Fabric&, Links&)>& body) {
  return RunThreads(n, [&](std::shared_ptr<Fabric> fabric) {
    std::vector<int> members(n);
    std::iota(members.begin(), members.end(), 0);
    const auto links = NewLinks(*fabric, "test", members, fabric->rank(),
                                shared, Limit(10000));
    body(*fabric, *links);
  });
}

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_THREAD_RANKS_H_
