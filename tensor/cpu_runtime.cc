#include "tensor/cpu_runtime.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

struct CpuEvent {
  std::atomic<int64_t> nanoseconds{0};  // 0: not recorded
};
CpuEvent* Cast(EventHandle e) { return reinterpret_cast<CpuEvent*>(e); }

// memcpy and memset may not see null, which empty tensors have.
void CopyBytes(void* dst, const void* src, int64_t bytes) {
  if (bytes > 0) std::memmove(dst, src, static_cast<size_t>(bytes));
}

class CpuRuntimeImpl final : public DeviceRuntime {
 public:
  int device_count() override { return 1; }
  std::string DeviceDescription(int) override {
    return "CPU, " + std::to_string(std::thread::hardware_concurrency()) +
           " hardware threads";
  }
  bool synchronous() const override { return true; }
  Allocator& allocator(int) override { return CpuAllocator(); }

  void CopyToDevice(int, void* dst, const void* src, int64_t bytes,
                    StreamHandle) override {
    CopyBytes(dst, src, bytes);
  }
  void CopyToHost(int, void* dst, const void* src, int64_t bytes,
                  StreamHandle) override {
    CopyBytes(dst, src, bytes);
  }
  void CopyOnDevice(int, void* dst, const void* src, int64_t bytes,
                    StreamHandle) override {
    CopyBytes(dst, src, bytes);
  }
  void Fill(int, void* dst, uint8_t value, int64_t bytes,
            StreamHandle) override {
    if (bytes > 0) std::memset(dst, value, static_cast<size_t>(bytes));
  }
  void LaunchHostFunction(int, StreamHandle, void (*function)(void*),
                          void* data) override {
    function(data);
  }

  // A byte, so that handles differ.
  StreamHandle CreateStream(int) override {
    return reinterpret_cast<StreamHandle>(new char);
  }
  void DestroyStream(int, StreamHandle stream) noexcept override {
    delete reinterpret_cast<char*>(stream);
  }
  void SynchronizeStream(int, StreamHandle) override {}
  void SynchronizeDevice(int) override {}

  EventHandle CreateEvent(int) override {
    return reinterpret_cast<EventHandle>(new CpuEvent);
  }
  void DestroyEvent(int, EventHandle event) noexcept override {
    delete Cast(event);
  }
  void RecordEvent(int, EventHandle event, StreamHandle) override {
    Cast(event)->nanoseconds =
        std::chrono::duration_cast<std::chrono::nanoseconds>(
            Clock::now().time_since_epoch())
            .count();
  }
  void StreamWaitEvent(int, StreamHandle, EventHandle) override {}
  void SynchronizeEvent(int, EventHandle) override {}
  bool EventDone(int, EventHandle) override { return true; }
  double ElapsedMs(int, EventHandle start, EventHandle end) override {
    const int64_t a = Cast(start)->nanoseconds, b = Cast(end)->nanoseconds;
    if (a == 0 || b == 0) {
      Fail(absl::StatusCode::kFailedPrecondition,
           "event: elapsed time needs two recorded events");
    }
    return static_cast<double>(b - a) * 1e-6;
  }
};

}  // namespace

DeviceRuntime& CpuRuntime() {
  static DeviceRuntime* runtime = new CpuRuntimeImpl;
  return *runtime;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = CpuRuntime();

}  // namespace proa::inline v0
