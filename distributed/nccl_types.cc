#include "distributed/nccl_types.h"

#include <array>

namespace proa::inline v0::distributed {
namespace {

struct Number {
  bool there = false;
  ncclDataType_t type = ncclUint8;
  int64_t parts = 1;
};

// In the order of the enumerators of DType.
constexpr std::array<Number, kNumDTypes> kNumbers = {{
    {true, ncclUint8},       // bool
    {true, ncclUint8},       // uint8
    {true, ncclInt8},        // int8
    {},                      // int16
    {true, ncclInt32},       // int32
    {true, ncclInt64},       // int64
    {true, ncclFloat16},     // float16
    {true, ncclBfloat16},    // bfloat16
    {true, ncclFloat32},     // float32
    {true, ncclFloat64},     // float64
    {true, ncclFloat32, 2},  // complex64
    {true, ncclFloat64, 2},  // complex128
}};

// In the order of the enumerators of ReduceOp.
constexpr std::array<ncclRedOp_t, 5> kOps = {ncclSum, ncclProd, ncclMin,
                                             ncclMax, ncclAvg};

}  // namespace

std::optional<NcclReduction> NcclReductionOf(ReduceOp reduce, DType dtype) {
  const Number& number = kNumbers.at(static_cast<size_t>(dtype));
  ncclRedOp_t op = kOps.at(static_cast<size_t>(reduce));
  if (!number.there) return std::nullopt;
  const bool complex = number.parts == 2;
  if (complex && op != ncclSum && op != ncclAvg) return std::nullopt;
  const bool whole = !complex && number.type != ncclFloat16 &&
                     number.type != ncclBfloat16 &&
                     number.type != ncclFloat32 && number.type != ncclFloat64;
  if (whole && op == ncclAvg) return std::nullopt;
  // A sum of booleans is "any of them", a product "all of them".
  if (dtype == DType::kBool) {
    if (op == ncclSum) op = ncclMax;
    if (op == ncclProd) op = ncclMin;
  }
  return NcclReduction{number.type, op, number.parts};
}

}  // namespace proa::inline v0::distributed
