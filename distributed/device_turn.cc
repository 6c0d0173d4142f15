#include "distributed/device_turn.h"

#include <chrono>
#include <utility>

#include "distributed/store.h"

namespace proa::inline v0::distributed {

DeviceTurn::DeviceTurn(Place place)
    : place_(place), runtime_(RuntimeOf(place)) {
  ready_ = runtime_.CreateEvent(place_.index);
  done_ = runtime_.CreateEvent(place_.index);
}

void DeviceTurn::Begin() {
  runtime_.RecordEvent(place_.index, ready_,
                       runtime_.current_stream(place_.index));
}

DeviceTurn::~DeviceTurn() {
  for (const EventHandle event : {ready_, done_}) {
    if (event != nullptr) runtime_.DestroyEvent(place_.index, event);
  }
}

void DeviceTurn::Enqueue(StreamHandle stream,
                         const std::function<void(StreamHandle)>& enqueue) {
  runtime_.StreamWaitEvent(place_.index, stream, ready_);
  enqueue(stream);
  stream_ = stream;
}

void DeviceTurn::Close(const std::function<void()>& more) {
  if (more) {
    const StreamScope scope(place_, stream_);
    more();
  }
  runtime_.RecordEvent(place_.index, done_, stream_);
  enqueued_.store(true, std::memory_order_release);
}

bool DeviceTurn::IsDone() {
  {
    const std::lock_guard lock(mu_);
    if (error_ != nullptr) return true;
  }
  return enqueued_.load(std::memory_order_acquire) &&
         runtime_.EventDone(place_.index, done_);
}

void DeviceTurn::Fail(std::exception_ptr error) {
  const std::lock_guard lock(mu_);
  error_ = std::move(error);
}

void DeviceTurn::Order() {
  {
    const std::lock_guard lock(mu_);
    if (error_ != nullptr) std::rethrow_exception(error_);
  }
  if (!enqueued_.load(std::memory_order_acquire)) return;
  runtime_.StreamWaitEvent(place_.index, runtime_.current_stream(place_.index),
                           done_);
}

DeviceWatch::~DeviceWatch() {
  {
    const std::lock_guard lock(mu_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void DeviceWatch::Follow(std::shared_ptr<DeviceTurn> turn,
                         std::function<void()> watch,
                         std::function<void(std::exception_ptr)> ended) {
  const std::lock_guard lock(mu_);
  followed_.push_back({std::move(turn), std::move(watch), std::move(ended)});
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  changed_.notify_all();
}

bool DeviceWatch::IsOver(Followed& f) {
  try {
    if (f.turn->IsDone()) {
      f.ended(nullptr);
      return true;
    }
    f.watch();
    return false;
  } catch (...) {
    f.turn->Fail(std::current_exception());
    f.ended(std::current_exception());
    return true;
  }
}

void DeviceWatch::Loop() {
  NeverLookForInterrupt();
  constexpr std::chrono::milliseconds kTurn(2);
  std::unique_lock lock(mu_);
  while (!stop_) {
    if (followed_.empty()) {
      changed_.wait(lock);
      continue;
    }
    std::deque<Followed> now;
    now.swap(followed_);
    lock.unlock();
    std::deque<Followed> left;
    for (Followed& f : now) {
      if (!IsOver(f)) left.push_back(std::move(f));
    }
    lock.lock();
    // Those that came meanwhile are later ones.
    for (Followed& f : followed_) left.push_back(std::move(f));
    followed_.swap(left);
    if (!followed_.empty()) changed_.wait_for(lock, kTurn);
  }
}

}  // namespace proa::inline v0::distributed
