// HoldWhileForking: locks that a forked child finds free.
//
// A child of fork() has the locks as they were, but only the thread that
// forked: what another thread held stays held for ever, and what it guards may
// be half changed. A lock that is entered here is taken by the forking thread
// before it forks and given back in parent and child.
//
// Not only locks: a child finds what another thread was about to initialize,
// a static of a function, half made for ever, and would wait for it. So what
// ops use of that kind is made when the library is loaded, where there is one
// thread: `const auto& at_load = TheTable();` below the function.
// python/tests/statics_test.py looks at all of them.
#ifndef PROA_TENSOR_FORK_LOCKS_H_
#define PROA_TENSOR_FORK_LOCKS_H_

namespace proa::inline v0 {
namespace internal {

struct ForkLock {
  void* mutex;
  bool (*try_lock)(void* mutex);
  void (*unlock)(void* mutex);
};

void AddForkLock(const ForkLock& lock);

}  // namespace internal

// `mutex` must live until the process ends, and is entered once. The order of
// the locks does not matter: they are tried together, and all given back when
// one is taken. A fork waits for a second at most: a lock that is held for that
// long is one that the forking thread itself holds.
template <typename Mutex>
void HoldWhileForking(Mutex& mutex) {
  internal::AddForkLock(
      {&mutex, [](void* m) { return static_cast<Mutex*>(m)->try_lock(); },
       [](void* m) { static_cast<Mutex*>(m)->unlock(); }});
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_FORK_LOCKS_H_
