#include "profiler/events.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "profiler/clock.h"
#include "profiler/ring.h"
#include "profiler/source.h"

namespace proa::inline v0::profiler {
namespace internal {

constinit std::atomic<uint32_t> recording{0};
constinit std::atomic<uint32_t> details{0};

}  // namespace internal

namespace {

using internal::Ring;

// Of one thread in one recording.
struct Buffer {
  Buffer(int64_t capacity, uint32_t number) : ring(capacity), number(number) {}
  Ring ring;
  const uint32_t number;  // from 1, of the threads of the process
  ThreadInfo thread;      // its name: guarded by Recorder::mutex
};

struct Recorder {
  std::mutex mutex;
  // Of the recording that runs, or the last one.
  uint32_t number = 0;
  Options options;
  int64_t start = 0;  // in ticks, as `stop`
  int64_t stop = 0;
  bool running = false;
  int64_t bytes = 0;  // of all rings
  // In the order in which the threads came. A thread that ends leaves its
  // buffer.
  std::vector<std::shared_ptr<Buffer>> buffers;
  uint32_t threads = 0;  // that were ever numbered
  int64_t dropped = 0;   // of rings that Take has given back
};

Recorder& TheRecorder() {
  static Recorder* recorder = [] {
    auto* r = new Recorder;
    // The child is a process of its own: it records when it starts to. Without
    // this, a lock that another thread holds would stay locked in it.
    pthread_atfork([] { TheRecorder().mutex.lock(); },
                   [] { TheRecorder().mutex.unlock(); },
                   [] {
                     Recorder& mine = TheRecorder();
                     internal::recording.store(0, std::memory_order_relaxed);
                     internal::details.store(0, std::memory_order_relaxed);
                     ++mine.number;
                     mine.running = false;
                     mine.buffers.clear();
                     mine.bytes = 0;
                     mine.start = mine.stop = 0;
                     mine.mutex.unlock();
                   });
    return r;
  }();
  return *recorder;
}

// Made at load; a child of fork() that was made while another thread
// stood in its first call would wait for that thread for ever.
[[maybe_unused]] const auto& recorder_at_load = TheRecorder();

// The lock lets the calls of sources come one at a time; it is taken before
// Recorder::mutex. Sources take locks of their own, whose order with this one
// no handler of fork could keep: so a child gets a fresh one.
struct Sources {
  std::mutex mutex;
  std::vector<Source*> all;
};

Sources& TheSources() {
  static Sources* sources = [] {
    auto* s = new Sources;
    pthread_atfork(nullptr, nullptr,
                   [] { new (&TheSources().mutex) std::mutex; });
    return s;
  }();
  return *sources;
}

// Made at load; as the recorder is.
[[maybe_unused]] const auto& sources_at_load = TheSources();

// What this thread says of itself.
struct ThreadState {
  std::shared_ptr<Buffer> buffer;  // of the recording it joined last
  uint32_t number = 0;
  std::string name;
  ~ThreadState();
};

ThreadState& ThisThread() {
  static thread_local ThreadState state;
  return state;
}

// Apart from the above, so that reading them needs no guard.
constinit thread_local bool thread_ends = false;
constinit thread_local const char* path = nullptr;
constinit thread_local const char* source_line = nullptr;
constinit thread_local Ring* ring = nullptr;
constinit thread_local uint32_t ring_recording = 0;
constinit thread_local uint32_t ring_thread = 0;

ThreadState::~ThreadState() {
  // What other destructors of the thread do still has a ring, in this
  // recording.
  thread_ends = true;
}

ThreadInfo Describe(const ThreadState& state) {
  ThreadInfo info;
  info.system_id = static_cast<int64_t>(syscall(SYS_gettid));
  info.name = state.name;
  if (info.name.empty()) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    info.name = name;
  }
  return info;
}

// Gives the thread a ring in recording `number`; false if that does not run.
[[gnu::noinline]] bool Join(uint32_t number) {
  if (thread_ends) return false;
  Recorder& r = TheRecorder();
  ThreadState& mine = ThisThread();
  std::lock_guard lock(r.mutex);
  if (r.number != number || !r.running) return false;
  const int64_t wanted = std::max<int64_t>(r.options.events_per_thread, 0);
  const bool fits = wanted <= (r.options.max_bytes - r.bytes) /
                                  static_cast<int64_t>(Ring::kEntryBytes);
  if (mine.number == 0) mine.number = ++r.threads;
  auto buffer = std::make_shared<Buffer>(fits ? wanted : 0, mine.number);
  r.bytes += buffer->ring.capacity() * static_cast<int64_t>(Ring::kEntryBytes);
  buffer->thread = Describe(mine);
  r.buffers.push_back(buffer);
  mine.buffer = std::move(buffer);
  ring = &mine.buffer->ring;
  ring_thread = mine.number;
  ring_recording = number;
  return true;
}

inline bool Joined(uint32_t number) {
  return ring_recording == number || Join(number);
}

constexpr int kKindShift = 56;
// Of the last word: the number of the thread that a range belongs to, 0 for the
// writer itself; this bit, if times are not in ticks.
constexpr uint64_t kInNanoseconds = uint64_t{1} << 32;
// And this one, if it is of the cpu, not of the thread.
constexpr uint64_t kOfCpu = uint64_t{1} << 33;
constexpr uint64_t kPointer = (uint64_t{1} << kKindShift) - 1;

uint64_t Word(const void* p) { return reinterpret_cast<uint64_t>(p); }

// What an entry's words are. Memory events have their total where others have
// details.
Ring::Entry Pack(EventKind kind, const char* name, const char* category,
                 int64_t start, uint64_t end_or_value, uint64_t details,
                 uint64_t correlation, uint64_t thread) {
  return {Word(name) | static_cast<uint64_t>(kind) << kKindShift,
          Word(category),
          static_cast<uint64_t>(start),
          end_or_value,
          details,
          Word(path),
          correlation,
          thread};
}

bool HasEnd(EventKind kind) {
  return kind == EventKind::kRange || kind == EventKind::kAsync;
}
bool IsMemory(EventKind kind) {
  return kind == EventKind::kAllocate || kind == EventKind::kFree;
}

template <typename T>
T* Pointer(uint64_t word) {
  return reinterpret_cast<T*>(word);
}

Event Unpack(const Ring::Entry& w, const internal::TickScale& ticks) {
  const auto scale =
      (w[7] & kInNanoseconds) != 0 ? internal::TickScale() : ticks;
  Event e;
  e.kind = static_cast<EventKind>(w[0] >> kKindShift);
  e.name = Pointer<const char>(w[0] & kPointer);
  e.category = Pointer<const char>(w[1]);
  e.start_ns = scale.ToNs(static_cast<int64_t>(w[2]));
  e.end_ns = e.start_ns;
  if (HasEnd(e.kind)) {
    e.end_ns = scale.ToNs(static_cast<int64_t>(w[3]));
  } else {
    e.value = std::bit_cast<double>(w[3]);
  }
  if (IsMemory(e.kind)) {
    e.total = std::bit_cast<double>(w[4]);
  } else {
    e.details = Pointer<const Details>(w[4]);
  }
  e.path = Pointer<const char>(w[5]);
  e.correlation = w[6];
  return e;
}

// An event without duration, now.
void AddMoment(EventKind kind, const char* name, const char* category,
               double value, uint64_t correlation, uint64_t details = 0) {
  const uint32_t number = internal::recording.load(std::memory_order_relaxed);
  if (number == 0 || !Joined(number)) return;
  ring->Push(Pack(kind, name, category, internal::Ticks(),
                  std::bit_cast<uint64_t>(value), details, correlation, 0));
}

// A word that a file holds, "" if there is none.
std::string FirstWord(const char* file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

ProcessInfo ThisProcess() {
  ProcessInfo info;
  info.system_id = getpid();
  info.name = program_invocation_short_name;
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  info.host = host;
  info.wall_offset_ns = internal::WallNs() - internal::MonotonicNs();
  info.boot = FirstWord("/proc/sys/kernel/random/boot_id");
  return info;
}

// Marks, until all threads are known, events on the cpu's track beside a
// thread.
constexpr uint32_t kBeside = uint32_t{1} << 31;

// Appends what `buffer` holds. `lent` are ranges that belong to another thread,
// as (index of event, number of thread).
void Append(const Buffer& buffer, const internal::TickScale& scale,
            Recording* result, std::vector<std::pair<size_t, uint32_t>>* lent) {
  const auto thread = static_cast<uint32_t>(result->threads.size());
  result->threads.push_back(buffer.thread);
  const int64_t room = std::min(buffer.ring.written(), buffer.ring.capacity());
  result->events.reserve(result->events.size() + static_cast<size_t>(room));
  int64_t kept = 0;
  const int64_t written = buffer.ring.Read([&](const Ring::Entry& entry) {
    Event e = Unpack(entry, scale);
    e.thread = (entry[7] & kOfCpu) != 0 ? thread | kBeside : thread;
    if (e.end_ns < e.start_ns) {
      ++result->clock_steps;
      e.end_ns = e.start_ns;
    }
    if (const auto owner = static_cast<uint32_t>(entry[7]); owner != 0) {
      lent->emplace_back(result->events.size(), owner);
    }
    result->events.push_back(e);
    ++kept;
  });
  result->dropped += written - kept;
}

// Gives threads whose ops ran kernels a track of the cpu beside their own.
void AddCpuTracks(Recording* r) {
  const size_t threads = r->threads.size();
  std::vector<uint32_t> track(threads, 0);
  for (Event& e : r->events) {
    if ((e.thread & kBeside) == 0) continue;
    const uint32_t owner = e.thread & ~kBeside;
    if (track[owner] == 0) {
      track[owner] = static_cast<uint32_t>(r->threads.size());
      ThreadInfo cpu = r->threads[owner];
      cpu.device = "cpu";
      r->threads.push_back(std::move(cpu));
    }
    e.thread = track[owner];
  }
}

Recording CollectThreads(bool give_back) {
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  Recording result;
  const auto scale = internal::TickScale::Measure();
  result.processes.push_back(ThisProcess());
  result.start_ns = scale.ToNs(r.start);
  result.stop_ns = scale.ToNs(r.running ? internal::Ticks() : r.stop);
  std::vector<std::pair<size_t, uint32_t>> lent;
  std::vector<uint32_t> numbers;
  for (std::shared_ptr<Buffer>& b : r.buffers) {
    numbers.push_back(b->number);
    Append(*b, scale, &result, &lent);
    if (give_back) b->ring.Discard();  // its thread may hold it
  }
  if (give_back) r.buffers.clear();
  for (const auto& [event, number] : lent) {
    const auto at = std::find(numbers.begin(), numbers.end(), number);
    if (at != numbers.end()) {
      result.events[event].thread = static_cast<uint32_t>(at - numbers.begin());
    }
  }
  AddCpuTracks(&result);
  return result;
}

Recording CollectLocked(Sources& sources, bool give_back) {
  Recording result = CollectThreads(give_back);
  for (Source* source : sources.all) source->Collect(&result);
  result.dropped +=
      static_cast<int64_t>(std::erase_if(result.events, [&](const Event& e) {
        return e.thread >= result.threads.size();
      }));
  std::sort(result.events.begin(), result.events.end(), Earlier);
  return result;
}

void BeginRecording(const Options& options) {
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  r.buffers.clear();
  r.bytes = 0;
  r.options = options;
  if (++r.number == 0) r.number = 1;  // 0 stands for none
  r.running = true;
  r.start = internal::Ticks();
  internal::details.store(options.details, std::memory_order_relaxed);
  internal::recording.store(r.number, std::memory_order_relaxed);
}

// False if none ran.
bool EndRecording() {
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  if (!r.running) return false;
  internal::recording.store(0, std::memory_order_relaxed);
  internal::details.store(0, std::memory_order_relaxed);
  r.running = false;
  r.stop = internal::Ticks();
  return true;
}

void StopLocked(Sources& sources) {
  if (!EndRecording()) return;
  for (Source* source : sources.all) source->Stop();
}

}  // namespace

namespace internal {

void AddRange(const char* name, const char* category, int64_t start,
              uint32_t number, const Details* details, uint64_t correlation) {
  const int64_t end = Ticks();
  // A range of an earlier recording, or one that ends after Stop.
  if (recording.load(std::memory_order_relaxed) != number) return;
  if (!Joined(number)) return;
  ring->Push(Pack(EventKind::kRange, name, category, start,
                  static_cast<uint64_t>(end), Word(details), correlation, 0));
}

}  // namespace internal

void Start(const Options& options) {
  Sources& sources = TheSources();
  std::lock_guard sources_lock(sources.mutex);
  internal::TickScale::Measure();  // chooses the clock
  BeginRecording(options);
  for (Source* source : sources.all) source->Start(options);
}

void Stop() {
  Sources& sources = TheSources();
  std::lock_guard sources_lock(sources.mutex);
  StopLocked(sources);
}

Recording Collect() {
  Sources& sources = TheSources();
  std::lock_guard sources_lock(sources.mutex);
  return CollectLocked(sources, /*give_back=*/false);
}

Recording Take() {
  Sources& sources = TheSources();
  std::lock_guard sources_lock(sources.mutex);
  StopLocked(sources);
  return CollectLocked(sources, /*give_back=*/true);
}

void RegisterSource(Source* source) {
  Sources& sources = TheSources();
  std::lock_guard lock(sources.mutex);
  sources.all.push_back(source);
}

OpenRange BeginRange() {
  const uint32_t number = internal::recording.load(std::memory_order_relaxed);
  if (number == 0 || !Joined(number)) return {};
  return {internal::Ticks(), 0, number, ring_thread};
}

void MarkEnd(OpenRange* range) {
  if (range->recording != 0) range->end = internal::Ticks();
}

void EndRange(OpenRange* range, const char* name, const char* category,
              const Details* details, uint64_t correlation) {
  const uint32_t number = std::exchange(range->recording, 0);
  if (number == 0) return;
  const int64_t end = range->end != 0 ? range->end : internal::Ticks();
  if (internal::recording.load(std::memory_order_relaxed) != number) return;
  if (!Joined(number)) return;
  const bool here = range->thread == ring_thread;
  ring->Push(Pack(here ? EventKind::kRange : EventKind::kAsync, name, category,
                  range->start, static_cast<uint64_t>(end), Word(details),
                  correlation, here ? 0 : range->thread));
}

void AddKernel(const OpenRange& range, int64_t start, const char* name,
               const Details* details) {
  const uint32_t number = range.recording;
  if (number == 0 || range.end == 0 ||
      internal::recording.load(std::memory_order_relaxed) != number ||
      !Joined(number)) {
    return;
  }
  ring->Push(Pack(EventKind::kRange, name, "kernel", start,
                  static_cast<uint64_t>(range.end), Word(details), 0, kOfCpu));
}

void Instant(const char* name, const char* category) {
  AddMoment(EventKind::kInstant, name, category, 0, 0);
}

void Counter(const char* name, double value, const char* category) {
  AddMoment(EventKind::kCounter, name, category, value, 0);
}

uint64_t NewFlowId() {
  static std::atomic<uint64_t> last{0};
  return 1 + last.fetch_add(1, std::memory_order_relaxed);
}

void FlowBegin(const char* name, uint64_t id, const char* category) {
  AddMoment(EventKind::kFlowBegin, name, category, 0, id);
}

void FlowEnd(const char* name, uint64_t id, const char* category) {
  AddMoment(EventKind::kFlowEnd, name, category, 0, id);
}

void Allocated(const char* place, const char* tag, uint64_t address,
               int64_t bytes, int64_t total) {
  AddMoment(EventKind::kAllocate, tag, place, static_cast<double>(bytes),
            address, std::bit_cast<uint64_t>(static_cast<double>(total)));
}

void Freed(const char* place, const char* tag, uint64_t address, int64_t bytes,
           int64_t total) {
  AddMoment(EventKind::kFree, tag, place, static_cast<double>(bytes), address,
            std::bit_cast<uint64_t>(static_cast<double>(total)));
}

void AddEvent(const char* name, const char* category, int64_t start_ns,
              int64_t end_ns) {
  const uint32_t number = internal::recording.load(std::memory_order_relaxed);
  if (number == 0 || !Joined(number)) return;
  ring->Push(Pack(EventKind::kRange, name, category, start_ns,
                  static_cast<uint64_t>(end_ns), 0, 0, kInNanoseconds));
}

void RegisterForkHandlers() {
  TheRecorder();
  TheSources();
  Intern("");
}

void SetThreadName(std::string_view name) {
  ThreadState& mine = ThisThread();
  Recorder& r = TheRecorder();
  std::lock_guard lock(r.mutex);
  mine.name = name.substr(0, 255);
  if (mine.buffer) mine.buffer->thread.name = mine.name;
}

const char* PathScope::Set(const char* now) { return std::exchange(path, now); }

const char* SetSourceLine(const char* line) {
  return std::exchange(source_line, line);
}
const char* SourceLine() { return source_line; }

}  // namespace proa::inline v0::profiler
