// Faults: what kernels find wrong with values that only the device knows, as
// errors of the host.
//
// The CPU looks at each index before it uses it and throws. A GPU would have to
// be waited for, after each call, to do that. So a kernel leaves out what it
// must not touch (it reads zero for an index out of range, and writes nothing
// there), reports one such value, and goes on; the error is thrown by the next
// call that waits for the device: reading a value on the host, a copy to it,
// synchronize(). With CUDA_LAUNCH_BLOCKING=1 each launch waits, and the call
// with the bad value throws.
//
// Of several bad values any one is reported; later ones are dropped until it is
// thrown.
#ifndef PROA_TENSOR_CUDA_FAULT_H_
#define PROA_TENSOR_CUDA_FAULT_H_

#include <cstdint>

namespace proa::inline v0 {

struct CudaFault {
  enum Kind : int32_t {
    kNone,
    kIndex,        // `value` is not in [-size, size)
    kPlainIndex,   // `value` is not in [0, size)
    kProbability,  // `number` lies outside [0, 1]
    kChosen,       // the mask chooses `value` elements, not `size`
  };
  int32_t kind;  // Kind
  int32_t dim;
  // A literal of the host's code: one in a kernel lies on the device.
  const char* op;
  int64_t value, position, size;
  double number;
};

// Where kernels of one device report, in memory that they reach.
struct CudaFaultSink {
  uint32_t* taken;   // of the device: whether there is a report
  CudaFault* fault;  // of the host: `kind` is set last

#ifdef __CUDACC__
  __device__ void Report(const CudaFault& what) const {
    if (*static_cast<volatile uint32_t*>(taken) != 0) return;
    if (atomicExch(taken, 1u) != 0) return;
    volatile CudaFault* to = fault;
    to->dim = what.dim;
    to->op = what.op;
    to->value = what.value;
    to->position = what.position;
    to->size = what.size;
    to->number = what.number;
    __threadfence_system();
    to->kind = what.kind;
    __threadfence_system();
  }
#endif
};

// That of the device; made at the first use.
CudaFaultSink CudaFaultSinkOf(int device);

// Throws what has been reported by kernels that are done, if anything has:
// Error kOutOfRange for an index, kInvalidArgument for the rest. Costs a load.
void ThrowCudaFault(int device);

// After a launch: the same if launches wait (CUDA_LAUNCH_BLOCKING=1).
void ThrowCudaFaultOfLaunch(int device);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_CUDA_FAULT_H_
