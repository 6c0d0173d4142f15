// Inner products of many lines with one vector (of float, double, int32_t or
// int64_t), and sums of many rows by one vector, on one thread; compiled for
// each instruction set. What a library's product of matrices does with a matrix
// of one column or row is slower.
#ifndef PROA_OPS_LINALG_DOT_LINES_H_
#define PROA_OPS_LINALG_DOT_LINES_H_

#include <cstdint>

namespace proa::inline v0::ops {

// out[i * out_step] = sum over q < k of lines[i * line_step + q] * v[q], for
// i < count. Sums of a line go in one order, whatever the others; those of
// integers wrap.
template <typename T>
using DotLinesFunction = void (*)(const T* lines, int64_t line_step, const T* v,
                                  int64_t k, int64_t count, T* out,
                                  int64_t out_step);

// out[j] += sum over q < k of v[q * v_step] * rows[q * row_step + j], for j <
// count. Some rows are read side by side, from their beginning to their end,
// which is what memory is fastest at. Sums go in the order of rows; elements of
// the first 16 columns, of the next ones, ... do not depend on `count`.
using AddRowsFunction = void (*)(const float* rows, int64_t row_step,
                                 const float* v, int64_t v_step, int64_t k,
                                 int64_t count, float* out);

// For the instruction set of this machine.
template <typename T>
DotLinesFunction<T> FindDotLines();
AddRowsFunction FindAddRows();

#define PROA_DECLARE_DOT_LINES(isa)                                        \
  namespace isa {                                                          \
  void DotLines(const float* lines, int64_t line_step, const float* v,     \
                int64_t k, int64_t count, float* out, int64_t out_step);   \
  void DotLines(const double* lines, int64_t line_step, const double* v,   \
                int64_t k, int64_t count, double* out, int64_t out_step);  \
  void DotLines(const int32_t* lines, int64_t line_step, const int32_t* v, \
                int64_t k, int64_t count, int32_t* out, int64_t out_step); \
  void DotLines(const int64_t* lines, int64_t line_step, const int64_t* v, \
                int64_t k, int64_t count, int64_t* out, int64_t out_step); \
  void AddRows(const float* rows, int64_t row_step, const float* v,        \
               int64_t v_step, int64_t k, int64_t count, float* out);      \
  }
PROA_DECLARE_DOT_LINES(sse2)
PROA_DECLARE_DOT_LINES(avx2)
PROA_DECLARE_DOT_LINES(avx512)
#undef PROA_DECLARE_DOT_LINES

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_DOT_LINES_H_
