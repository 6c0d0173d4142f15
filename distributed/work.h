// Work: something that a rank has asked for and that may not be done yet; and
// the lane of works that go one after the other.
//
// Work on a device is over for its lane when it has been enqueued. Wait() then
// orders the stream of who waits behind it, as for every op of the device.
#ifndef PROA_DISTRIBUTED_WORK_H_
#define PROA_DISTRIBUTED_WORK_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "distributed/device_turn.h"
#include "distributed/store.h"

namespace proa::inline v0::distributed {

class Work {
 public:
  bool IsDone() const {
    return HasRun() && (turn_ == nullptr || turn_->IsDone());
  }
  // False if it is not done when the limit ends. Throws what the work threw,
  // and what Ctrl-C throws.
  bool Wait(std::optional<Limit> limit = std::nullopt);
  // What it enqueues. Call before others see the work.
  void SetTurn(std::shared_ptr<DeviceTurn> turn) { turn_ = std::move(turn); }

 private:
  friend class Lane;
  void Finish(std::exception_ptr error);
  bool HasRun() const { return done_.load(std::memory_order_acquire); }

  std::atomic<bool> done_{false};
  std::mutex mu_;
  std::condition_variable changed_;
  std::exception_ptr error_;          // guarded by mu_
  std::shared_ptr<DeviceTurn> turn_;  // null: on the host
};

// Runs works in the order in which they are given, on a thread of its own,
// which starts with the first one that is not waited for.
class Lane {
 public:
  Lane() = default;
  ~Lane();  // after what runs; what has not begun never does
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // `body(here)`; `here`: on the caller's thread, which is so if nothing else
  // runs, and it is to be waited for, or takes less time than to wake a thread
  // (`brief`). With `wait` it is done on return, or has thrown.
  std::shared_ptr<Work> Run(std::function<void(bool here)> body, bool wait,
                            bool brief = false);
  // Waits until nothing is left to do, not beyond `end`.
  void Drain(Clock::time_point end);

 private:
  struct Task {
    std::function<void(bool)> body;
    std::shared_ptr<Work> work;
  };
  void Loop();

  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_WORK_H_
