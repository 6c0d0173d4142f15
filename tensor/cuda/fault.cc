#include "tensor/cuda/fault.h"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "tensor/cuda/check.h"
#include "tensor/device.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

struct Sinks {
  std::mutex mutex;
  std::array<std::atomic<uint32_t*>, DeviceRuntime::kMaxDevices> taken = {};
  std::array<std::atomic<CudaFault*>, DeviceRuntime::kMaxDevices> faults = {};
};

Sinks& AllSinks() {
  static Sinks& sinks = *new Sinks;  // never destroyed: kernels may run longer
  return sinks;
}

[[noreturn]] void Throw(int device, const CudaFault& f) {
  const std::string where =
      absl::StrCat("; found on gpu:", device,
                   " by a kernel that was launched before this call; set "
                   "CUDA_LAUNCH_BLOCKING=1 to see by which");
  switch (f.kind) {
    case CudaFault::kIndex:
    case CudaFault::kPlainIndex:
      if (f.size == 0) {
        Fail(absl::StatusCode::kOutOfRange, f.op, ": index ", f.value,
             " at flat position ", f.position, " is out of range for dim ",
             f.dim, ", which is empty", where);
      }
      Fail(absl::StatusCode::kOutOfRange, f.op, ": index ", f.value,
           " at flat position ", f.position, " is out of range for dim ", f.dim,
           " of size ", f.size, "; valid are ",
           f.kind == CudaFault::kIndex ? -f.size : 0, " to ", f.size - 1,
           where);
    case CudaFault::kProbability:
      Fail(absl::StatusCode::kInvalidArgument, f.op,
           ": a probability lies outside [0, 1]: element ", f.position, " is ",
           f.number, where);
    default:
      Fail(absl::StatusCode::kInvalidArgument, f.op, ": dy has ", f.size,
           " elements, but the mask chooses ", f.value, where);
  }
}

}  // namespace

CudaFaultSink CudaFaultSinkOf(int device) {
  Sinks& sinks = AllSinks();
  if (CudaFault* fault = sinks.faults[device].load(std::memory_order_acquire)) {
    return {sinks.taken[device].load(std::memory_order_relaxed), fault};
  }
  const std::lock_guard lock(sinks.mutex);
  if (sinks.faults[device].load(std::memory_order_relaxed) == nullptr) {
    UseCudaDevice(device);
    void* taken = nullptr;
    void* fault = nullptr;
    CheckCuda(cudaMalloc(&taken, sizeof(uint32_t)), "cudaMalloc");
    CheckCuda(cudaMemset(taken, 0, sizeof(uint32_t)), "cudaMemset");
    CheckCuda(cudaHostAlloc(&fault, sizeof(CudaFault),
                            cudaHostAllocMapped | cudaHostAllocPortable),
              "cudaHostAlloc");
    *static_cast<CudaFault*>(fault) = CudaFault{};
    // The memset is done on a stream that others do not wait for.
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    sinks.taken[device].store(static_cast<uint32_t*>(taken),
                              std::memory_order_relaxed);
    sinks.faults[device].store(static_cast<CudaFault*>(fault),
                               std::memory_order_release);
  }
  return {sinks.taken[device].load(std::memory_order_relaxed),
          sinks.faults[device].load(std::memory_order_relaxed)};
}

void ThrowCudaFault(int device) {
  Sinks& sinks = AllSinks();
  CudaFault* fault = sinks.faults[device].load(std::memory_order_acquire);
  if (fault == nullptr) [[likely]]
    return;
  const volatile int32_t& kind = fault->kind;
  if (kind == CudaFault::kNone) [[likely]]
    return;
  CudaFault found;
  {
    const std::lock_guard lock(sinks.mutex);
    if (kind == CudaFault::kNone) return;  // another thread has thrown it
    std::atomic_thread_fence(std::memory_order_acquire);
    found = *fault;
    *fault = CudaFault{};
    UseCudaDevice(device);
    CheckCuda(cudaMemset(sinks.taken[device].load(std::memory_order_relaxed), 0,
                         sizeof(uint32_t)),
              "cudaMemset");
  }
  Throw(device, found);
}

void ThrowCudaFaultOfLaunch(int device) {
  static const bool launches_wait = [] {
    const char* value = std::getenv("CUDA_LAUNCH_BLOCKING");
    return value != nullptr && value[0] != '\0' && value[0] != '0';
  }();
  if (launches_wait) [[unlikely]]
    ThrowCudaFault(device);
}

}  // namespace proa::inline v0
