// The structs of DLPack 1.x (https://dmlc.github.io/dlpack), declared here
// because the header that distributions ship is older. The layout is fixed by
// the standard.
#ifndef PROA_TENSOR_DLPACK_ABI_H_
#define PROA_TENSOR_DLPACK_ABI_H_

#include <cstddef>
#include <cstdint>

namespace proa::inline v0::dlpack {

struct Version {
  uint32_t major;
  uint32_t minor;
};
inline constexpr Version kVersion = {1, 0};

enum DeviceType : int32_t {
  kCPU = 1,
  kCUDA = 2,
  kCUDAHost = 3,  // pinned; the CPU reads it
  kExtDev = 12,   // some other device
  kCUDAManaged = 13,
};

struct Device {
  int32_t device_type;
  int32_t device_id;
};

enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kOpaqueHandle = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

// In a capsule named "dltensor", then "used_dltensor".
struct ManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);  // may be null
};

inline constexpr uint64_t kFlagReadOnly = 1;
inline constexpr uint64_t kFlagIsCopied = 2;
inline constexpr uint64_t kFlagIsSubbytePadded = 4;

// In a capsule named "dltensor_versioned", then "used_dltensor_versioned".
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);  // may be null
  uint64_t flags;
  DLTensor dl_tensor;
};

static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, shape) == 24 &&
              sizeof(ManagedTensor) == 64 &&
              sizeof(ManagedTensorVersioned) == 80 &&
              offsetof(ManagedTensorVersioned, dl_tensor) == 32);

}  // namespace proa::inline v0::dlpack

#endif  // PROA_TENSOR_DLPACK_ABI_H_
