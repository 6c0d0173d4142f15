#include "ops/primitives/cpu/convert.h"

#include <cstring>

#include "ops/for_machine.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {

// Those of blocks.h, which declares the one of the source that includes it.
using ConvertFn = void (*)(const void* src, void* dst, int64_t n);
namespace sse2 {
ConvertFn FindConvert(DType from, DType to);
}
namespace avx2 {
ConvertFn FindConvert(DType from, DType to);
}
namespace avx512 {
ConvertFn FindConvert(DType from, DType to);
}

namespace cpu {
namespace {

ConvertFn FindOnMachine(DType from, DType to) {
  return ForMachine(sse2::FindConvert, avx2::FindConvert, avx512::FindConvert)(
      from, to);
}

}  // namespace

void Convert(DType from, const void* src, DType to, void* dst, int64_t n) {
  if (from == to) {
    std::memcpy(dst, src, n * ItemSize(to));
  } else {
    FindOnMachine(from, to)(src, dst, n);
  }
}

void ConvertInParallel(DType from, const void* src, DType to, void* dst,
                       int64_t n) {
  const char* s = static_cast<const char*>(src);
  char* d = static_cast<char*>(dst);
  parallel_for(0, n, 1 << 15, [&](int64_t begin, int64_t end) {
    Convert(from, s + begin * ItemSize(from), to, d + begin * ItemSize(to),
            end - begin);
  });
}

}  // namespace cpu
}  // namespace proa::inline v0::ops
