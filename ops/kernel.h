// Kernels: free functions `void Multiply(const KernelContext&, const Tensor& x,
// const Tensor& y, Tensor* out)` that fill preallocated outputs, and the table
// in which an op finds its own: by backend, then dtype. No hashing, strings or
// locks.
//
// A kernel may rely on: defined arguments of the promoted dtype, shapes that
// passed inference, contiguous inputs unless the schema says `accepts:
// strided`, outputs allocated as inferred (except views and data-dependent
// outputs, which the kernel makes). It must cope with empty and 0-d tensors.
#ifndef PROA_OPS_KERNEL_H_
#define PROA_OPS_KERNEL_H_

#include <array>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/place.h"

namespace proa::inline v0 {

class Allocator;
class Generator;
struct StreamTag;

// What a kernel computes with: the settings of its thread (tensor/execution.h)
// for its place. It costs nothing to those that ask for nothing.
struct KernelContext {
  Place place;

  // Where work on a device goes; null on the CPU, and for the default stream.
  StreamTag* stream() const;
  // Whose numbers a random kernel draws.
  Generator& generator() const;
  // That loops of the kernel may run on; parallel_for keeps to it by itself.
  int num_threads() const;
};

// Memory for a kernel's own use while it runs: what it is to hold is undefined.
// On a device it may be given back before the work on the context's stream is
// done; whoever gets it next comes after.
class Workspace {
 public:
  Workspace(const KernelContext& ctx, int64_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Aligned to 64 bytes; null if `bytes` is 0.
  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Allocator* allocator_;
  const int64_t bytes_;
  void* data_ = nullptr;
};

// Instruction sets a CPU kernel is compiled for; a machine runs the highest
// that it has (and that PROA_MAX_ISA=sse2|avx2|avx512 allows).
enum class Isa : int8_t { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };
Isa MachineIsa();
const char* Name(Isa isa);  // "sse2", "avx2", "avx512"

using AnyKernel = void (*)();

class KernelTable {
 public:
  AnyKernel Find(DeviceKind kind, DType dtype) const {
    return kernels_[static_cast<int>(kind)][static_cast<int>(dtype)];
  }
  // Sets the kernel for each dtype of the bit set. Of several instruction sets
  // the highest that this machine runs wins, in any order of registration.
  void Register(DeviceKind kind, uint32_t dtypes, Isa isa, AnyKernel kernel);
  // For every kind but the CPU, those to come included, that has none of its
  // own.
  void RegisterForDevices(uint32_t dtypes, AnyKernel kernel);
  // What the kernel in that place was compiled for.
  Isa IsaOf(DeviceKind kind, DType dtype) const {
    return Isa{isa_[static_cast<int>(kind)][static_cast<int>(dtype)]};
  }

 private:
  AnyKernel kernels_[kMaxDeviceKinds][kNumDTypes] = {};
  int8_t isa_[kMaxDeviceKinds][kNumDTypes] = {};
};

// Registers `find(dtype)` for each dtype of the set, unless this machine lacks
// `isa` (then `find`, compiled for that instruction set, is not even called).
void RegisterEach(KernelTable& table, DeviceKind kind, uint32_t dtypes, Isa isa,
                  AnyKernel (*find)(DType));

// For logs and profiles: a kernel that chose among implementations by itself
// (of oneDNN) says which one it ran on this thread. Lives for ever.
extern thread_local constinit const char* chosen_implementation
    __attribute__((tls_model("initial-exec")));

constexpr uint32_t DTypeBit(DType t) { return 1u << static_cast<int>(t); }

// "multiply: no kernel for bool on cpu; it accepts float32, float64": throws
// TypeError (dtype not declared) or Error kUnimplemented (no such backend).
[[noreturn]] void FailNoKernel(const char* op, uint32_t declared_dtypes,
                               DType dtype, Place place);

}  // namespace proa::inline v0

#endif  // PROA_OPS_KERNEL_H_
