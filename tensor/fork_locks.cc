#include "tensor/fork_locks.h"

#include <pthread.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace proa::inline v0::internal {
namespace {

struct ForkLocks {
  std::mutex mutex;  // held while forking as well
  std::vector<ForkLock> locks;
  bool held = false;  // whether the fork that is going on holds `locks`

  // Whether it got all; else it holds none.
  bool TryAll() {
    for (size_t i = 0; i < locks.size(); ++i) {
      if (locks[i].try_lock(locks[i].mutex)) continue;
      while (i-- > 0) locks[i].unlock(locks[i].mutex);
      return false;
    }
    return true;
  }

  void BeforeFork() {
    mutex.lock();
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!(held = TryAll()) && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
  }

  void AfterFork() {
    if (held) {
      for (const ForkLock& lock : locks) lock.unlock(lock.mutex);
    }
    held = false;
    mutex.unlock();
  }
};

ForkLocks& TheForkLocks() {
  static auto* locks = [] {
    auto* made = new ForkLocks;
    pthread_atfork([] { TheForkLocks().BeforeFork(); },
                   [] { TheForkLocks().AfterFork(); },
                   [] { TheForkLocks().AfterFork(); });
    return made;
  }();
  return *locks;
}

}  // namespace

void AddForkLock(const ForkLock& lock) {
  ForkLocks& all = TheForkLocks();
  std::lock_guard guard(all.mutex);
  all.locks.push_back(lock);
}

}  // namespace proa::inline v0::internal
