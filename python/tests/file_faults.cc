// For tests: kills the process, or makes a call of the system fail, at the n-th
// call by which files change. Preloaded; the test arms it by way of ctypes.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace {

enum Action { kCount = 0, kKill = -1, kHalfThenKill = -2 };

int count = 0;
int at = 0;           // of the call to strike; 0: none
int action = kCount;  // an Action, or the errno to fail with
bool armed = false;

// True if this call is to fail; errno is set.
bool Strike(bool* half = nullptr) {
  if (!armed || ++count != at || action == kCount) return false;
  if (action == kHalfThenKill && half != nullptr) {
    *half = true;
    return false;
  }
  if (action < 0) kill(getpid(), SIGKILL);
  errno = action;
  return true;
}

template <typename F>
F Next(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void file_faults_arm(int strike_at, int what) {
  at = strike_at;
  action = what;
  count = 0;
  armed = true;
}
int file_faults_disarm() {
  armed = false;
  return count;
}

ssize_t write(int fd, const void* data, size_t n) {
  static const auto next = Next(&write, "write");
  bool half = false;
  if (Strike(&half)) return -1;
  if (half) {
    next(fd, data, n / 2);
    kill(getpid(), SIGKILL);
  }
  return next(fd, data, n);
}

ssize_t pwrite(int fd, const void* data, size_t n, off_t offset) {
  static const auto next = Next(&pwrite, "pwrite");
  bool half = false;
  if (Strike(&half)) return -1;
  if (half) {
    next(fd, data, n / 2, offset);
    kill(getpid(), SIGKILL);
  }
  return next(fd, data, n, offset);
}

int openat(int folder, const char* path, int flags, ...) {
  static const auto next = Next(&openat, "openat");
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  if (flags & O_CREAT && Strike()) return -1;
  return next(folder, path, flags, mode);
}

int fsync(int fd) {
  static const auto next = Next(&fsync, "fsync");
  return Strike() ? -1 : next(fd);
}
int renameat(int from, const char* a, int to, const char* b) {
  static const auto next = Next(&renameat, "renameat");
  return Strike() ? -1 : next(from, a, to, b);
}
int unlinkat(int folder, const char* path, int flags) {
  static const auto next = Next(&unlinkat, "unlinkat");
  return Strike() ? -1 : next(folder, path, flags);
}
int fchmod(int fd, mode_t mode) {
  static const auto next = Next(&fchmod, "fchmod");
  return Strike() ? -1 : next(fd, mode);
}

}  // extern "C"
