// Kernels of linear systems and least squares: each matrix by ops/linalg's
// solvers.
#include <limits>
#include <string>
#include <type_traits>

#include "ops/linalg/full_rank.h"
#include "ops/linalg/matrix_batch.h"
#include "ops/linalg/orthogonal.h"
#include "ops/linalg/solve_kernels.h"
#include "ops/linalg/solvers.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

[[noreturn]] void FailAt(const char* op, const Tensor& x, int64_t index,
                         const char* what) {
  FailArgument(op, ": ", NameMatrix(x, index), " ", what, "; x is ",
               Describe(x));
}

double Cube(int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n) *
         static_cast<double>(n);
}

}  // namespace

void LinearSolve(const KernelContext&, const Tensor& x, const Tensor& y,
                 bool adjoint, Tensor* out) {
  if (out->numel() == 0) return;
  const MatrixBatch a(x), b(y), result(*out);
  const BroadcastBatch of_x(x, *out), of_y(y, *out);
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    ForMatrices(result.count, Cube(a.rows), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = of_x(i);
        if (!dense::Solve<T>(x.data<T>() + at * a.size(),
                             y.data<T>() + of_y(i) * b.size(), a.rows,
                             b.columns, adjoint,
                             out->data<T>() + i * result.size())) {
          FailAt("linear_solve", x, at, "is singular");
        }
      }
    });
  });
}

void TriangularSolve(const KernelContext&, const Tensor& x, const Tensor& y,
                     bool upper, bool transpose, bool unitriangular,
                     Tensor* out) {
  if (out->numel() == 0) return;
  const MatrixBatch a(x), b(y), result(*out);
  const BroadcastBatch of_x(x, *out), of_y(y, *out);
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    ForMatrices(result.count,
                static_cast<double>(a.size()) * static_cast<double>(b.columns),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    dense::SolveTriangle<T>(x.data<T>() + of_x(i) * a.size(),
                                            y.data<T>() + of_y(i) * b.size(),
                                            a.rows, b.columns, upper, transpose,
                                            unitriangular,
                                            out->data<T>() + i * result.size());
                  }
                });
  });
}

void LstSq(const KernelContext&, const Tensor& x, const Tensor& y, double rcond,
           std::string_view driver, Tensor* solution, Tensor* rank,
           Tensor* singular_values) {
  const MatrixBatch a(x), b(y), result(*solution);
  const BroadcastBatch of_y(y, *solution);
  const bool by_values = driver == "gelsd" || driver == "gelss";
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    using Real = dense::RealOf<T>;
    T* to = solution->data<T>();
    int32_t* ranks = rank->data<int32_t>();
    if (a.size() == 0 || b.columns == 0) {
      // Without equations the least solution is 0.
      std::fill_n(to, solution->numel(), T(0));
      if (a.size() == 0) {
        std::fill_n(ranks, rank->numel(), 0);
        return;
      }
    }
    const double limit =
        rcond >= 0 ? rcond
                   : static_cast<double>(std::numeric_limits<Real>::epsilon()) *
                         static_cast<double>(std::max(a.rows, a.columns));
    ForMatrices(
        result.count,
        static_cast<double>(a.size()) * static_cast<double>(a.smaller()),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const T* matrix = x.data<T>() + i * a.size();
            const T* right = y.data<T>() + of_y(i) * b.size();
            T* found = to + i * result.size();
            if constexpr (std::is_floating_point_v<T>) {
              if (!by_values && dense::FullRankSolution<T>(
                                    matrix, right, a.rows, a.columns, b.columns,
                                    driver == "gels" ? 0 : limit, found)) {
                ranks[i] = static_cast<int32_t>(a.smaller());
                continue;
              }
            }
            if (driver != "gels") {
              Real* values =
                  by_values ? singular_values->data<Real>() + i * a.smaller()
                            : nullptr;
              if (!dense::LeastSquares<T>(matrix, right, a.rows, a.columns,
                                          b.columns, limit, found, values,
                                          ranks + i)) {
                FailAt("lstsq", x, i, "has no singular values that converge");
              }
            } else {
              ranks[i] = static_cast<int32_t>(a.smaller());
              if (!dense::FullRankLeastSquares<T>(
                      matrix, right, a.rows, a.columns, b.columns, found)) {
                FailAt("lstsq", x, i,
                       "has not full rank, which driver 'gels' needs; use "
                       "'gelsy' or 'gelsd'");
              }
            }
          }
        });
  });
}

}  // namespace proa::inline v0::ops::cpu
