// DeviceTurn: one collective on the streams of a device. It comes after what
// its caller had enqueued when it was asked for, and who waits for it orders a
// stream behind it; the host goes on.
//
// DeviceWatch looks after turns that have been enqueued, since nobody else
// waits for them on the host: one that does not end is an error of its group.
#ifndef PROA_DISTRIBUTED_DEVICE_TURN_H_
#define PROA_DISTRIBUTED_DEVICE_TURN_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "tensor/device.h"
#include "tensor/place.h"

namespace proa::inline v0::distributed {

class DeviceTurn {
 public:
  explicit DeviceTurn(Place place);
  ~DeviceTurn();
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  Place place() const { return place_; }
  // It comes after what this thread's stream on the device has now.
  void Begin();
  // `enqueue(stream)` puts the work on the stream, behind the caller's. Then
  // call Close.
  void Enqueue(StreamHandle stream,
               const std::function<void(StreamHandle)>& enqueue);
  // `more`, if there is any, enqueues the rest on the stream of the scope that
  // it is called in. The turn is done when all that is.
  void Close(const std::function<void()>& more = nullptr);
  // False until it has been enqueued. Throws what the device reports.
  bool IsDone();
  // What it was to give will never be there.
  void Fail(std::exception_ptr error);
  // Later work of this thread on the device comes after it. Call once it has
  // been enqueued. Throws what Fail was given.
  void Order();

 private:
  const Place place_;
  DeviceRuntime& runtime_;
  EventHandle ready_ = nullptr;
  EventHandle done_ = nullptr;
  StreamHandle stream_ = nullptr;
  std::atomic<bool> enqueued_{false};
  std::mutex mu_;
  std::exception_ptr error_;  // guarded by mu_
};

class DeviceWatch {
 public:
  DeviceWatch() = default;
  ~DeviceWatch();  // what still runs is not looked after any more
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // `watch()` is called while the turn runs, on a thread of its own, and throws
  // when waiting has no sense any more; `ended(error)` when it is over, with
  // null if all is well.
  void Follow(std::shared_ptr<DeviceTurn> turn, std::function<void()> watch,
              std::function<void(std::exception_ptr)> ended);

 private:
  struct Followed {
    std::shared_ptr<DeviceTurn> turn;
    std::function<void()> watch;
    std::function<void(std::exception_ptr)> ended;
  };
  void Loop();
  static bool IsOver(Followed& f);

  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<Followed> followed_;  // guarded by mu_
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_DEVICE_TURN_H_
