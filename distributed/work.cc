#include "distributed/work.h"

#include <utility>

namespace proa::inline v0::distributed {

void Work::Finish(std::exception_ptr error) {
  const std::lock_guard lock(mu_);
  error_ = std::move(error);
  done_.store(true, std::memory_order_release);
  changed_.notify_all();
}

bool Work::Wait(std::optional<Limit> limit) {
  const auto end = Clock::now() + limit.value_or(Limit(0));
  std::unique_lock lock(mu_);
  while (!HasRun()) {
    if (limit && Clock::now() >= end) return false;
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    if (HasRun()) break;
    lock.unlock();
    LookForInterrupt();
    lock.lock();
  }
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (turn_ == nullptr) return true;
  // Who names a limit wants to know whether it is over.
  while (limit && !turn_->IsDone()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    LookForInterrupt();
  }
  turn_->Order();
  return true;
}

Lane::~Lane() {
  {
    const std::lock_guard lock(mu_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Work> Lane::Run(std::function<void(bool here)> body, bool wait,
                                bool brief) {
  auto work = std::make_shared<Work>();
  std::unique_lock lock(mu_);
  if ((wait || brief) && !busy_ && tasks_.empty()) {
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      body(true);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    if (!tasks_.empty()) changed_.notify_all();
    lock.unlock();
    work->Finish(error);
    if (wait && error != nullptr) std::rethrow_exception(error);
    return work;
  }
  tasks_.push_back({std::move(body), work});
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  changed_.notify_all();
  lock.unlock();
  if (wait) work->Wait();
  return work;
}

void Lane::Drain(Clock::time_point end) {
  std::unique_lock lock(mu_);
  changed_.wait_until(lock, end, [&] { return !busy_ && tasks_.empty(); });
}

void Lane::Loop() {
  NeverLookForInterrupt();
  std::unique_lock lock(mu_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || (!busy_ && !tasks_.empty()); });
    if (stop_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      task.body(false);
    } catch (...) {
      error = std::current_exception();
    }
    task.body = nullptr;
    task.work->Finish(error);
    lock.lock();
    busy_ = false;
    if (tasks_.empty()) changed_.notify_all();
  }
}

}  // namespace proa::inline v0::distributed
