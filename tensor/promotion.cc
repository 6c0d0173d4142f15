#include "tensor/promotion.h"

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// Row and column in the order of DType. Symmetric; promotion_test.cc checks
// that and the order.
constexpr DType bo = DType::kBool, u1 = DType::kUInt8, i1 = DType::kInt8,
                i2 = DType::kInt16, i4 = DType::kInt32, i8 = DType::kInt64,
                f2 = DType::kFloat16, bf = DType::kBFloat16,
                f4 = DType::kFloat32, f8 = DType::kFloat64,
                c8 = DType::kComplex64, cd = DType::kComplex128;
constexpr DType kTable[kNumDTypes][kNumDTypes] = {
    //       bo  u1  i1  i2  i4  i8  f2  bf  f4  f8  c8  cd
    /* bo */ {bo, u1, i1, i2, i4, i8, f2, bf, f4, f8, c8, cd},
    /* u1 */ {u1, u1, i2, i2, i4, i8, f2, bf, f4, f8, c8, cd},
    /* i1 */ {i1, i2, i1, i2, i4, i8, f2, bf, f4, f8, c8, cd},
    /* i2 */ {i2, i2, i2, i2, i4, i8, f2, bf, f4, f8, c8, cd},
    /* i4 */ {i4, i4, i4, i4, i4, i8, f2, bf, f4, f8, c8, cd},
    /* i8 */ {i8, i8, i8, i8, i8, i8, f2, bf, f4, f8, c8, cd},
    /* f2 */ {f2, f2, f2, f2, f2, f2, f2, f4, f4, f8, c8, cd},
    /* bf */ {bf, bf, bf, bf, bf, bf, f4, bf, f4, f8, c8, cd},
    /* f4 */ {f4, f4, f4, f4, f4, f4, f4, f4, f4, f8, c8, cd},
    /* f8 */ {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, cd, cd},
    /* c8 */ {c8, c8, c8, c8, c8, c8, c8, c8, c8, cd, c8, cd},
    /* cd */ {cd, cd, cd, cd, cd, cd, cd, cd, cd, cd, cd, cd},
};

int Category(char kind) {
  switch (kind) {
    case 'b':
      return 0;
    case 'u':
    case 'i':
      return 1;
    case 'f':
      return 2;
    case 'c':
      return 3;
    default:
      FailArgument("promotion: '", std::string_view(&kind, 1),
                   "' is no kind of number; use b, i, f or c");
  }
}

}  // namespace

DType Promote(DType x, DType y) {
  return kTable[static_cast<int>(x)][static_cast<int>(y)];
}

DType ComplexType(DType t) {
  return t == DType::kFloat64 || t == DType::kComplex128 ? DType::kComplex128
                                                         : DType::kComplex64;
}

DType DTypeOfScalar(char kind, DType default_float) {
  switch (Category(kind)) {
    case 0:
      return DType::kBool;
    case 1:
      return DType::kInt64;
    case 2:
      return default_float;
    default:
      return ComplexType(default_float);
  }
}

DType PromoteScalar(DType tensor, char kind, DType default_float) {
  if (Category(Info(tensor).kind) >= Category(kind)) return tensor;
  if (kind == 'c' && IsFloat(tensor)) return ComplexType(tensor);
  return DTypeOfScalar(kind, default_float);
}

}  // namespace proa::inline v0
