#include <type_traits>

#include "ops/for_machine.h"
#include "ops/linalg/dot_lines.h"
#include "ops/linalg/double_product.h"
#include "ops/linalg/gemm_loops.h"

namespace proa::inline v0::ops {

GemmPanelFunction FindGemmPanel(DType dtype) {
  return ForMachine(sse2::GemmPanelFor, avx2::GemmPanelFor,
                    avx512::GemmPanelFor)(dtype);
}

template <typename T>
DotLinesFunction<T> FindDotLines() {
  return ForMachine<std::remove_pointer_t<DotLinesFunction<T>>>(
      sse2::DotLines, avx2::DotLines, avx512::DotLines);
}
template DotLinesFunction<float> FindDotLines<float>();
template DotLinesFunction<double> FindDotLines<double>();
template DotLinesFunction<int32_t> FindDotLines<int32_t>();
template DotLinesFunction<int64_t> FindDotLines<int64_t>();

AddRowsFunction FindAddRows() {
  return ForMachine(sse2::AddRows, avx2::AddRows, avx512::AddRows);
}

DoubleProductFunction FindDoubleProduct() {
  return ForMachine(sse2::MultiplyDoubles, avx2::MultiplyDoubles,
                    avx512::MultiplyDoubles);
}

namespace {

// At load; tensor/fork_locks.h says why.
[[maybe_unused]] const int asked_at_load =
    ForMachine(sse2::AskEigenForCaches, avx2::AskEigenForCaches,
               avx512::AskEigenForCaches)();

}  // namespace
}  // namespace proa::inline v0::ops
