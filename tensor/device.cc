#include "tensor/device.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "glog/logging.h"
#include "tensor/cpu_runtime.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// Zero-initialized, so usable before any dynamic initializer has run.
constinit std::atomic<DeviceRuntime*> runtimes[kMaxDeviceKinds] = {};

thread_local constinit const StreamScope* innermost_stream = nullptr;

}  // namespace

void DeviceRuntime::CopyPeer(int dst_device, void* dst, int src_device,
                             const void* src, int64_t bytes) {
  // In pieces, so that a large tensor needs no second copy of itself on the
  // host.
  constexpr int64_t kPiece = int64_t{16} << 20;
  std::vector<char> host(static_cast<size_t>(std::min(bytes, kPiece)));
  for (int64_t at = 0; at < bytes; at += kPiece) {
    const int64_t n = std::min(kPiece, bytes - at);
    CopyToHost(src_device, host.data(), static_cast<const char*>(src) + at, n,
               current_stream(src_device));
    SynchronizeStream(src_device, current_stream(src_device));
    CopyToDevice(dst_device, static_cast<char*>(dst) + at, host.data(), n,
                 current_stream(dst_device));
    SynchronizeStream(dst_device, current_stream(dst_device));
  }
}

StreamHandle DeviceRuntime::current_stream(int device) const {
  for (const StreamScope* s = innermost_stream; s != nullptr; s = s->before_) {
    if (&s->runtime_ == this && s->device_ == device) return s->stream_;
  }
  return current_[device].load(std::memory_order_acquire);
}

void DeviceRuntime::SetCurrentStream(int device, StreamHandle stream) {
  OrderStreams(device, current_[device].load(std::memory_order_acquire),
               stream);
  current_[device].store(stream, std::memory_order_release);
}

void DeviceRuntime::OrderStreams(int device, StreamHandle earlier,
                                 StreamHandle later) {
  if (earlier == later) return;
  struct Event {  // goes in any case
    DeviceRuntime& runtime;
    const int device;
    const EventHandle handle;
    ~Event() { runtime.DestroyEvent(device, handle); }
  };
  const Event event{*this, device, CreateEvent(device)};
  RecordEvent(device, event.handle, earlier);
  StreamWaitEvent(device, later, event.handle);
}

StreamScope::StreamScope(Place place, StreamHandle stream)
    : runtime_(RuntimeOf(place)),
      device_(place.index),
      stream_(stream),
      around_(runtime_.current_stream(place.index)),
      before_(innermost_stream) {
  runtime_.OrderStreams(device_, around_, stream_);
  innermost_stream = this;
}

StreamScope::~StreamScope() {
  innermost_stream = before_;
  try {
    runtime_.OrderStreams(device_, stream_, around_);
  } catch (const std::exception& e) {  // no event: wait here instead
    LOG(ERROR) << "StreamScope: " << e.what() << "; waits for the device";
    try {
      runtime_.SynchronizeDevice(device_);
    } catch (const std::exception& gone) {
      LOG(ERROR) << "StreamScope: " << gone.what();
    }
  }
}

DeviceKind RegisterDeviceRuntime(std::string_view kind_name,
                                 std::unique_ptr<DeviceRuntime> runtime) {
  const DeviceKind kind = AddDeviceKind(kind_name);
  DeviceRuntime* expected = nullptr;
  const bool taken = kind == DeviceKind::kCPU ||
                     !runtimes[static_cast<int>(kind)].compare_exchange_strong(
                         expected, runtime.get(), std::memory_order_acq_rel);
  if (taken) {
    Fail(absl::StatusCode::kAlreadyExists, "device: '", kind_name,
         "' has a runtime already");
  }
  runtime.release();
  return kind;
}

DeviceRuntime* FindDeviceRuntime(DeviceKind kind) {
  if (kind == DeviceKind::kCPU) return &CpuRuntime();
  const int i = static_cast<int>(kind);
  if (i >= kMaxDeviceKinds) return nullptr;
  return runtimes[i].load(std::memory_order_acquire);
}

DeviceRuntime& RuntimeOf(Place place) {
  DeviceRuntime* runtime = FindDeviceRuntime(place.kind);
  if (runtime == nullptr) {
    FailArgument("device: ", ToString(place),
                 " has no runtime; this build or process has loaded none for '",
                 DeviceKindName(place.kind), "'; compute on 'cpu'");
  }
  const int count = runtime->device_count();
  if (place.index < 0 || place.index >= count) {
    FailArgument("device: ", ToString(place), " does not exist; there are ",
                 count, " devices of this kind");
  }
  return *runtime;
}

void Synchronize(Place place) {
  if (!place.is_cpu()) RuntimeOf(place).SynchronizeDevice(place.index);
}

}  // namespace proa::inline v0
