// DeviceRuntime: what the core asks of a device (memory, copies, streams,
// events), and the table of runtimes, one for each device kind.
//
// Nothing in the core assumes that device memory can be read by the host or
// that work is finished when a call returns:
//   DeviceRuntime& rt = RuntimeOf(place);
//   StreamHandle stream = rt.current_stream(place.index);
//   rt.CopyToDevice(place.index, dst, src, bytes, stream);
//   rt.SynchronizeStream(place.index, stream);
// The CPU is built in; CUDA registers itself when linked; others come as
// plugins (tensor/device_plugin.h). Tensors are copied with tensor/copy.h.
#ifndef PROA_TENSOR_DEVICE_H_
#define PROA_TENSOR_DEVICE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tensor/allocator.h"
#include "tensor/place.h"

namespace proa::inline v0 {

// Opaque; null is the device's default stream.
using StreamHandle = StreamTag*;
struct EventTag;
using EventHandle = EventTag*;

// What a device is, as far as its runtime knows.
struct DeviceProperties {
  std::string name;
  int64_t memory = 0;        // bytes
  int major = 0, minor = 0;  // of the instruction set
  int multiprocessors = 0;
};

// All functions are thread-safe and throw Error on failure, except where
// noexcept. `device` is in [0, device_count()).
class DeviceRuntime {
 public:
  static constexpr int kMaxDevices = 64;

  virtual ~DeviceRuntime() = default;

  virtual int device_count() = 0;
  // For people, e.g. "NVIDIA H200".
  virtual std::string DeviceDescription(int device) = 0;
  virtual DeviceProperties Properties(int device) {
    return {.name = DeviceDescription(device)};
  }
  // True if work is finished when a call returns (the CPU).
  virtual bool synchronous() const { return false; }

  // Memory. Caching: a freed block may be handed out at once, for work that is
  // enqueued later on the current stream of the thread that asks. Each block
  // remembers the stream that it was asked for on, and those of
  // Allocator::UseOn; work of another stream waits for them.
  virtual Allocator& allocator(int device) = 0;

  // Copies are enqueued; host memory must stay valid, and a source unchanged,
  // until the stream has passed them. Different devices: `CopyPeer`.
  virtual void CopyToDevice(int device, void* dst, const void* src_host,
                            int64_t bytes, StreamHandle stream) = 0;
  // The same of at most kMaxValueBytes, which may change when this returns.
  static constexpr int64_t kMaxValueBytes = 16;
  virtual void CopyValueToDevice(int device, void* dst, const void* src_host,
                                 int64_t bytes, StreamHandle stream) {
    CopyToDevice(device, dst, src_host, bytes, stream);
    SynchronizeStream(device, stream);
  }
  virtual void CopyToHost(int device, void* dst_host, const void* src,
                          int64_t bytes, StreamHandle stream) = 0;
  virtual void CopyOnDevice(int device, void* dst, const void* src,
                            int64_t bytes, StreamHandle stream) = 0;
  // Between devices of this runtime, ordered after and before work on both
  // current streams. The default goes through host memory and blocks.
  virtual void CopyPeer(int dst_device, void* dst, int src_device,
                        const void* src, int64_t bytes);
  // Copies `sizes` (`rank` of them) elements of `item_size` bytes between
  // strided places; strides in bytes. False if the runtime cannot: the core
  // then goes through the host.
  virtual bool CopyStrided(int device, void* dst, const int64_t* dst_strides,
                           const void* src, const int64_t* src_strides,
                           const int64_t* sizes, int rank, int64_t item_size,
                           StreamHandle stream) {
    return false;
  }
  // Sets each byte.
  virtual void Fill(int device, void* dst, uint8_t value, int64_t bytes,
                    StreamHandle stream) = 0;
  // Calls `function(data)` on a thread of the runtime when the stream gets
  // there. It must not call the runtime, nor throw.
  virtual void LaunchHostFunction(int device, StreamHandle stream,
                                  void (*function)(void*), void* data) = 0;

  virtual StreamHandle CreateStream(int device) = 0;
  // Waits for its work.
  virtual void DestroyStream(int device, StreamHandle stream) noexcept = 0;
  virtual void SynchronizeStream(int device, StreamHandle stream) = 0;
  virtual void SynchronizeDevice(int device) = 0;

  virtual EventHandle CreateEvent(int device) = 0;
  virtual void DestroyEvent(int device, EventHandle event) noexcept = 0;
  virtual void RecordEvent(int device, EventHandle event,
                           StreamHandle stream) = 0;
  // Later work on `stream` waits for the event; the host does not.
  virtual void StreamWaitEvent(int device, StreamHandle stream,
                               EventHandle event) = 0;
  virtual void SynchronizeEvent(int device, EventHandle event) = 0;
  virtual bool EventDone(int device, EventHandle event) = 0;
  // Milliseconds between two recorded events that are done.
  virtual double ElapsedMs(int device, EventHandle start, EventHandle end) = 0;

  // The stream that the core uses on `device` on this thread: that of the
  // innermost StreamScope, or else the one that all threads share.
  StreamHandle current_stream(int device) const;
  // Changes the shared one. The new one waits for the work of the one before.
  void SetCurrentStream(int device, StreamHandle stream);
  // Work that is enqueued on `later` from now on waits for what `earlier` has.
  void OrderStreams(int device, StreamHandle earlier, StreamHandle later);

 private:
  std::array<std::atomic<StreamHandle>, kMaxDevices> current_ = {};
};

// Work of this thread on the device of `place` goes to `stream`, for as long as
// the scope stands. What was enqueued before on the stream around it comes
// before, and what is enqueued there after the scope comes after: a thread sees
// its own work in the order of its program. Streams of two threads have no
// order between them; a tensor that is handed over needs an event.
class StreamScope {
 public:
  StreamScope(Place place, StreamHandle stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  friend class DeviceRuntime;
  DeviceRuntime& runtime_;
  const int device_;
  const StreamHandle stream_;
  const StreamHandle around_;
  const StreamScope* const before_;
};

// Puts a runtime into the table, under a new or known kind name. Throws Error
// kAlreadyExists if the kind has one. It is never destroyed.
DeviceKind RegisterDeviceRuntime(std::string_view kind_name,
                                 std::unique_ptr<DeviceRuntime> runtime);

// Null if none is registered.
DeviceRuntime* FindDeviceRuntime(DeviceKind kind);

// Throws Error if the kind has no runtime or the index is not below its
// device_count().
DeviceRuntime& RuntimeOf(Place place);

// Waits for all work on the device of `place`; nothing to do on the CPU.
void Synchronize(Place place);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_DEVICE_H_
