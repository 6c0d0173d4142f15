// The DeviceRuntime of NVIDIA GPUs, kind "gpu". Registered when linked; without
// a driver or a device there are none of the kind, and everything else works.
//
// Stream handles are cudaStream_t, event handles cudaEvent_t. Streams that are
// made here do not wait for the default stream, nor it for them: the core
// orders them by events.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "tensor/allocator.h"
#include "tensor/block_cache.h"
#include "tensor/cuda/check.h"
#include "tensor/cuda/fault.h"
#include "tensor/cuda/strided_copy.h"
#include "tensor/device.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

cudaStream_t Plain(StreamHandle s) { return reinterpret_cast<cudaStream_t>(s); }
cudaEvent_t Plain(EventHandle e) { return reinterpret_cast<cudaEvent_t>(e); }

class CudaRuntime final : public DeviceRuntime {
 public:
  // The driver is asked at the first use, not when a program starts.
  int device_count() override {
    std::call_once(counted_, [this] {
      int count = 0;
      if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError();  // no driver, or none that is new enough
        count = 0;
      }
      count = std::min(count, kMaxDevices);
      for (int d = 0; d < count; ++d) allocators_[d] = NewCache(d);
      count_ = count;
    });
    return count_;
  }
  std::string DeviceDescription(int device) override {
    return Properties(device).name;
  }
  DeviceProperties Properties(int device) override {
    cudaDeviceProp p;
    CheckCuda(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
    return {p.name, static_cast<int64_t>(p.totalGlobalMem), p.major, p.minor,
            p.multiProcessorCount};
  }
  Allocator& allocator(int device) override { return *allocators_[device]; }

  void CopyToDevice(int device, void* dst, const void* src, int64_t bytes,
                    StreamHandle stream) override {
    Copy(device, dst, src, bytes, cudaMemcpyHostToDevice, stream);
  }
  // A kernel's arguments are taken when it is launched.
  void CopyValueToDevice(int device, void* dst, const void* src, int64_t bytes,
                         StreamHandle stream) override {
    if (bytes == 0) return;
    UseCudaDevice(device);
    CudaStoreValue(dst, src, bytes, Plain(stream));
  }
  void CopyToHost(int device, void* dst, const void* src, int64_t bytes,
                  StreamHandle stream) override {
    Copy(device, dst, src, bytes, cudaMemcpyDeviceToHost, stream);
  }
  void CopyOnDevice(int device, void* dst, const void* src, int64_t bytes,
                    StreamHandle stream) override {
    Copy(device, dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  bool CopyStrided(int device, void* dst, const int64_t* dst_strides,
                   const void* src, const int64_t* src_strides,
                   const int64_t* sizes, int rank, int64_t item_size,
                   StreamHandle stream) override {
    UseCudaDevice(device);
    return CudaStridedCopy(dst, dst_strides, src, src_strides, sizes, rank,
                           item_size, Plain(stream));
  }
  void Fill(int device, void* dst, uint8_t value, int64_t bytes,
            StreamHandle stream) override {
    if (bytes == 0) return;
    UseCudaDevice(device);
    CheckCuda(
        cudaMemsetAsync(dst, value, static_cast<size_t>(bytes), Plain(stream)),
        "cudaMemsetAsync");
  }
  void LaunchHostFunction(int device, StreamHandle stream,
                          void (*function)(void*), void* data) override {
    UseCudaDevice(device);
    CheckCuda(cudaLaunchHostFunc(Plain(stream), function, data),
              "cudaLaunchHostFunc");
  }

  StreamHandle CreateStream(int device) override {
    UseCudaDevice(device);
    cudaStream_t stream = nullptr;
    CheckCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              "cudaStreamCreate");
    return reinterpret_cast<StreamHandle>(stream);
  }
  void DestroyStream(int device, StreamHandle stream) noexcept override {
    cudaSetDevice(device);
    cudaStreamSynchronize(Plain(stream));
    cudaStreamDestroy(Plain(stream));
    allocators_[device]->ForgetStream(stream);
  }
  void SynchronizeStream(int device, StreamHandle stream) override {
    UseCudaDevice(device);
    CheckCuda(cudaStreamSynchronize(Plain(stream)), "cudaStreamSynchronize");
    ThrowCudaFault(device);
  }
  void SynchronizeDevice(int device) override {
    Finish(device);
    ThrowCudaFault(device);
  }

  EventHandle CreateEvent(int device) override {
    UseCudaDevice(device);
    cudaEvent_t event = nullptr;
    CheckCuda(cudaEventCreate(&event), "cudaEventCreate");
    return reinterpret_cast<EventHandle>(event);
  }
  void DestroyEvent(int device, EventHandle event) noexcept override {
    cudaEventDestroy(Plain(event));
  }
  void RecordEvent(int device, EventHandle event,
                   StreamHandle stream) override {
    UseCudaDevice(device);
    CheckCuda(cudaEventRecord(Plain(event), Plain(stream)), "cudaEventRecord");
  }
  void StreamWaitEvent(int device, StreamHandle stream,
                       EventHandle event) override {
    UseCudaDevice(device);
    CheckCuda(cudaStreamWaitEvent(Plain(stream), Plain(event), 0),
              "cudaStreamWaitEvent");
  }
  void SynchronizeEvent(int device, EventHandle event) override {
    CheckCuda(cudaEventSynchronize(Plain(event)), "cudaEventSynchronize");
    ThrowCudaFault(device);
  }
  bool EventDone(int device, EventHandle event) override {
    const cudaError_t status = cudaEventQuery(Plain(event));
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    CheckCuda(status, "cudaEventQuery");
    return true;
  }
  double ElapsedMs(int device, EventHandle start, EventHandle end) override {
    float ms = 0;
    CheckCuda(cudaEventElapsedTime(&ms, Plain(start), Plain(end)),
              "cudaEventElapsedTime");
    return ms;
  }

 private:
  std::unique_ptr<BlockCache> NewCache(int device) {
    return std::make_unique<BlockCache>(
        "gpu:" + std::to_string(device),
        BlockCache::Source{
            .allocate = [device](int64_t bytes) -> void* {
              UseCudaDevice(device);
              void* memory = nullptr;
              const cudaError_t status =
                  cudaMalloc(&memory, static_cast<size_t>(bytes));
              if (status == cudaErrorMemoryAllocation) {
                cudaGetLastError();
                return nullptr;
              }
              CheckCuda(status, "cudaMalloc");
              return memory;
            },
            .free = [](void* p) { cudaFree(p); },
            // Without what kernels report: that is not the allocator's.
            .finish = [device] { Finish(device); },
            .stream = [this, device] { return current_stream(device); },
            .order =
                [this, device](StreamTag* earlier, StreamTag* later) {
                  OrderStreams(device, earlier, later);
                }});
  }

  static void Finish(int device) {
    UseCudaDevice(device);
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  static void Copy(int device, void* dst, const void* src, int64_t bytes,
                   cudaMemcpyKind kind, StreamHandle stream) {
    if (bytes == 0) return;
    UseCudaDevice(device);
    CheckCuda(cudaMemcpyAsync(dst, src, static_cast<size_t>(bytes), kind,
                              Plain(stream)),
              "cudaMemcpyAsync");
  }

  std::once_flag counted_;
  int count_ = 0;
  std::array<std::unique_ptr<BlockCache>, kMaxDevices> allocators_;
};

[[maybe_unused]] const DeviceKind registered =
    RegisterDeviceRuntime("gpu", std::make_unique<CudaRuntime>());

}  // namespace
}  // namespace proa::inline v0
