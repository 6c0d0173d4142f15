#include "distributed/store.h"

#include <charconv>

#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::distributed {

namespace {
thread_local constinit bool looks = true;
}  // namespace

void LookForInterrupt() {
  if (looks) internal::LookForInterrupt();
}

void NeverLookForInterrupt() { looks = false; }

void store_internal::FailTimeout(const std::string& key, Limit limit) {
  Fail(absl::StatusCode::kDeadlineExceeded, "store: nobody set '", key,
       "' within ", limit.count() / 1000.0, " s");
}

int64_t store_internal::Number(const std::string& key,
                               const std::string& text) {
  int64_t n = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), n);
  PROA_REQUIRE(error == std::errc() && end == text.data() + text.size(),
               "store: '", key, "' holds no number to add to");
  return n;
}

void HashStore::Set(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mu_);
  values_[key] = value;
  changed_.notify_all();
}

std::string HashStore::Get(const std::string& key, Limit limit) {
  const auto end = Clock::now() + limit;
  std::unique_lock lock(mu_);
  while (true) {
    const auto at = values_.find(key);
    if (at != values_.end()) return at->second;
    if (Clock::now() >= end) store_internal::FailTimeout(key, limit);
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    lock.unlock();
    LookForInterrupt();
    lock.lock();
  }
}

int64_t HashStore::Add(const std::string& key, int64_t amount) {
  const std::lock_guard lock(mu_);
  const auto at = values_.find(key);
  const int64_t sum =
      amount +
      (at == values_.end() ? 0 : store_internal::Number(key, at->second));
  values_[key] = std::to_string(sum);
  changed_.notify_all();
  return sum;
}

bool HashStore::Delete(const std::string& key) {
  const std::lock_guard lock(mu_);
  return values_.erase(key) != 0;
}

}  // namespace proa::inline v0::distributed
