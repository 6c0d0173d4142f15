#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "distributed/store.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

[[noreturn]] void FailFile(const std::string& path, const char* what) {
  const int number = errno;
  Fail(absl::StatusCode::kUnavailable, "store: ", path, " ", what, ": ",
       std::strerror(number));
}

bool Read(const std::string& path, std::string* value) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  std::ostringstream text;
  text << file.rdbuf();
  *value = text.str();
  return true;
}

// Holds a lock of the directory, among processes and threads.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory)
      : file_(open((directory + "/.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC,
                   0600)) {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) {
      FailFile(directory, "cannot be locked");
    }
  }
  ~DirectoryLock() { close(file_); }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  const int file_;
};

}  // namespace

FileStore::FileStore(std::string directory) : directory_(std::move(directory)) {
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    FailFile(directory_, "cannot be made");
  }
}

std::string FileStore::PathOf(const std::string& key) const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = directory_ + "/k";
  for (const unsigned char c : key) {
    name += kDigits[c >> 4];
    name += kDigits[c & 15];
  }
  return name;
}

void FileStore::Set(const std::string& key, const std::string& value) {
  static std::atomic<int> count{0};
  const std::string temporary = directory_ + "/t" + std::to_string(getpid()) +
                                "." + std::to_string(count.fetch_add(1));
  std::ofstream file(temporary, std::ios::binary);
  file << value;
  file.close();
  if (!file || rename(temporary.c_str(), PathOf(key).c_str()) != 0) {
    FailFile(directory_, "cannot be written");
  }
}

std::string FileStore::Get(const std::string& key, Limit limit) {
  const auto end = Clock::now() + limit;
  const std::string path = PathOf(key);
  std::string value;
  while (!Read(path, &value)) {
    if (access(directory_.c_str(), F_OK) != 0) {
      FailFile(directory_, "has vanished");
    }
    if (Clock::now() >= end) store_internal::FailTimeout(key, limit);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    LookForInterrupt();
  }
  return value;
}

int64_t FileStore::Add(const std::string& key, int64_t amount) {
  const DirectoryLock lock(directory_);
  std::string value;
  const int64_t sum =
      amount +
      (Read(PathOf(key), &value) ? store_internal::Number(key, value) : 0);
  Set(key, std::to_string(sum));
  return sum;
}

bool FileStore::Delete(const std::string& key) {
  return unlink(PathOf(key).c_str()) == 0;
}

}  // namespace proa::inline v0::distributed
