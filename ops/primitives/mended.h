// RunMended: a loop over floating numbers whose fast formula does not hold for
// a few elements. `Fast`, free of branches, is computed for all of a piece;
// elements for which `IsHard` are then computed again, one by one, by `Exact`,
// so that what is rare costs only where it is.
#ifndef PROA_OPS_PRIMITIVES_MENDED_H_
#define PROA_OPS_PRIMITIVES_MENDED_H_

#include <cstdint>
#include <cstring>

namespace proa::inline v0::ops {

// out[i] = Formula::Fast(in[i]...), but Formula::Exact(in[i]...) where
// Formula::IsHard(in[i]..., Fast(in[i]...)). `out` may be an input. Fast and
// IsHard are PROA_HD.
template <class Formula, class T, class... In>
__attribute__((always_inline)) inline void RunMended(T* out, int64_t n,
                                                     const In*... in) {
  constexpr int64_t kPiece = 256;
  alignas(64) T y[kPiece];
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t m = n - begin < kPiece ? n - begin : kPiece;
    int32_t any = 0;
    for (int64_t i = 0; i < m; ++i) {
      y[i] = Formula::Fast(in[begin + i]...);
    }
    for (int64_t i = 0; i < m; ++i) {
      any |= Formula::IsHard(in[begin + i]..., y[i]) ? 1 : 0;
    }
    if (any != 0) {
      for (int64_t i = 0; i < m; ++i) {
        if (Formula::IsHard(in[begin + i]..., y[i]))
          y[i] = Formula::Exact(in[begin + i]...);
      }
    }
    std::memcpy(out + begin, y, static_cast<size_t>(m) * sizeof(T));
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_MENDED_H_
