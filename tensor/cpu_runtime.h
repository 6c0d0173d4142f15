// The DeviceRuntime of the CPU: its work is done when a call returns, streams
// are in name only, events hold the time. There so that code can be written
// once for all devices; kernels of the CPU do not go through it.
#ifndef PROA_TENSOR_CPU_RUNTIME_H_
#define PROA_TENSOR_CPU_RUNTIME_H_

#include "tensor/device.h"

namespace proa::inline v0 {

// Never destroyed.
DeviceRuntime& CpuRuntime();

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_CPU_RUNTIME_H_
