// Store: where ranks leave small values for each other while they meet.
//
// Keys are any bytes, values too. Thread-safe. What waits does so for a limit
// and answers Ctrl-C; a limit that ends is an Error kDeadlineExceeded that
// names the key.
#ifndef PROA_DISTRIBUTED_STORE_H_
#define PROA_DISTRIBUTED_STORE_H_

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace proa::inline v0::distributed {

using Clock = std::chrono::steady_clock;
using Limit = std::chrono::milliseconds;

// The key under which a store that can tell says which rank died.
inline constexpr char kLostRanks[] = "lost";

class Store {
 public:
  virtual ~Store() = default;
  virtual void Set(const std::string& key, const std::string& value) = 0;
  // Waits until somebody has set the key.
  virtual std::string Get(const std::string& key, Limit limit) = 0;
  // Adds to the number under the key, at first 0; what it is then. The value
  // can be read as text.
  virtual int64_t Add(const std::string& key, int64_t amount) = 0;
  // False if there was none.
  virtual bool Delete(const std::string& key) = 0;
  // Of this end's connection, as others can reach it; "" if there is none.
  virtual std::string LocalAddress() const { return ""; }
};

// In this process: for ranks that are threads.
class HashStore final : public Store {
 public:
  void Set(const std::string& key, const std::string& value) override;
  std::string Get(const std::string& key, Limit limit) override;
  int64_t Add(const std::string& key, int64_t amount) override;
  bool Delete(const std::string& key) override;

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

// In a directory that all ranks see; it is made if it is not there. A value is
// a file, written whole or not at all.
class FileStore final : public Store {
 public:
  explicit FileStore(std::string directory);
  void Set(const std::string& key, const std::string& value) override;
  std::string Get(const std::string& key, Limit limit) override;
  int64_t Add(const std::string& key, int64_t amount) override;
  bool Delete(const std::string& key) override;

 private:
  std::string PathOf(const std::string& key) const;
  const std::string directory_;
};

namespace store_internal {
// Turns of waiting: `ready()` is asked until it is true or the limit ends, with
// `pause(ms)` between. Throws what Ctrl-C throws.
[[noreturn]] void FailTimeout(const std::string& key, Limit limit);
int64_t Number(const std::string& key, const std::string& text);
}  // namespace store_internal

// Asks the user's wish to stop now; for loops whose turns take milliseconds.
void LookForInterrupt();
// Of threads that this room makes: they are not asked, since who answers may be
// gone (Python, while it ends) when they still run.
void NeverLookForInterrupt();

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_STORE_H_
