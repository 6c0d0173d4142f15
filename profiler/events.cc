#include "profiler/events.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace proa::inline v0::profiler {
namespace internal {

constinit std::atomic<uint32_t> recording{0};

}  // namespace internal

namespace {

// Events of one thread in one recording. Its thread writes, Collect reads; the
// lock is free nearly always.
struct Buffer {
  std::mutex mutex;
  ThreadInfo thread;
  std::vector<Event> events;
  int64_t dropped = 0;
};

struct Recorder {
  std::mutex mutex;
  // Of the recording that runs, or the last one.
  uint32_t number = 0;
  Options options;
  int64_t start_ns = 0;
  int64_t stop_ns = 0;  // 0 while it runs
  // In the order in which the threads came. A thread that ends leaves its
  // buffer.
  std::vector<std::shared_ptr<Buffer>> buffers;
};

Recorder& TheRecorder() {
  static Recorder* recorder = new Recorder;
  return *recorder;
}

// The buffer that this thread used last, and for which recording.
struct ThreadBuffer {
  std::shared_ptr<Buffer> buffer;
  uint32_t recording = 0;
  int64_t room = 0;
};

ThreadInfo ThisThread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return {static_cast<int64_t>(syscall(SYS_gettid)), name};
}

// Null if `number` is not the recording that runs.
ThreadBuffer* BufferFor(uint32_t number) {
  static thread_local ThreadBuffer mine;
  if (mine.recording == number) [[likely]]
    return &mine;
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  if (r.number != number || r.stop_ns != 0) return nullptr;
  mine.buffer = std::make_shared<Buffer>();
  mine.buffer->thread = ThisThread();
  mine.recording = number;
  mine.room = r.options.events_per_thread;
  r.buffers.push_back(mine.buffer);
  return &mine;
}

void AddClosed(const char* name, const char* category, int64_t start_ns,
               int64_t end_ns, uint32_t number) {
  // A range of an earlier recording, or one that ends after Stop.
  if (internal::recording.load(std::memory_order_relaxed) != number) return;
  ThreadBuffer* mine = BufferFor(number);
  if (mine == nullptr) return;
  Buffer& b = *mine->buffer;
  std::lock_guard lock(b.mutex);
  if (static_cast<int64_t>(b.events.size()) < mine->room) {
    b.events.push_back({name, category, start_ns, end_ns, 0});
  } else {
    ++b.dropped;
  }
}

}  // namespace

namespace internal {

int64_t Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

void Add(const char* name, const char* category, int64_t start_ns,
         uint32_t number) {
  AddClosed(name, category, start_ns, Now(), number);
}

}  // namespace internal

void Start(const Options& options) {
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  r.buffers.clear();
  r.options = options;
  if (++r.number == 0) r.number = 1;  // 0 stands for none
  r.stop_ns = 0;
  r.start_ns = internal::Now();
  internal::recording.store(r.number, std::memory_order_relaxed);
}

void Stop() {
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  if (internal::recording.exchange(0, std::memory_order_relaxed) == 0) return;
  r.stop_ns = internal::Now();
}

Recording Collect() {
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  Recording result;
  result.start_ns = r.start_ns;
  result.stop_ns = r.stop_ns != 0 ? r.stop_ns : internal::Now();
  for (const auto& b : r.buffers) {
    std::lock_guard buffer_lock(b->mutex);
    const uint32_t thread = static_cast<uint32_t>(result.threads.size());
    result.threads.push_back(b->thread);
    for (Event e : b->events) {
      e.thread = thread;
      result.events.push_back(e);
    }
    result.dropped += b->dropped;
  }
  std::stable_sort(result.events.begin(), result.events.end(),
                   [](const Event& a, const Event& b) {
                     return a.start_ns != b.start_ns ? a.start_ns < b.start_ns
                                                     : a.end_ns > b.end_ns;
                   });
  return result;
}

const char* Intern(std::string_view name) {
  static std::mutex* mutex = new std::mutex;
  static auto* names = new std::unordered_set<std::string>;
  std::lock_guard lock(*mutex);
  return names->emplace(name).first->c_str();  // nodes do not move
}

void AddEvent(const char* name, const char* category, int64_t start_ns,
              int64_t end_ns) {
  const uint32_t number = internal::recording.load(std::memory_order_relaxed);
  if (number != 0) AddClosed(name, category, start_ns, end_ns, number);
}

}  // namespace proa::inline v0::profiler
