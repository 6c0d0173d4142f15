// Kinds of elements, places and precisions of the inference library. Standard
// library only, as in all of its public headers. The names in capitals are
// those of PaddlePaddle's inference library.
#ifndef PROA_INFERENCE_TYPES_H_
#define PROA_INFERENCE_TYPES_H_

#include <cstdint>

namespace proa::inline v0::inference {

enum class DataType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,

  BOOL = kBool,
  UINT8 = kUInt8,
  INT8 = kInt8,
  INT32 = kInt32,
  INT64 = kInt64,
  FLOAT16 = kFloat16,
  BFLOAT16 = kBFloat16,
  FLOAT32 = kFloat32,
  FLOAT64 = kFloat64,
};

// Size of one element.
int GetNumBytesOfDataType(DataType type);

// Models run on the CPU; the others are names that programs mention.
enum class PlaceType { kUNK = -1, kCPU, kGPU, kXPU, kNPU, kIPU, kCUSTOM };

enum class PrecisionType { kFloat32, kInt8, kHalf, kBf16 };

enum class DataLayout { kUNK = -1, kAny, kNHWC, kNCHW };

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_TYPES_H_
