// Kernels of triangular and orthogonal factors: each matrix by ops/linalg's
// solvers.
#include <algorithm>

#include "ops/linalg/factor_kernels.h"
#include "ops/linalg/matrix_batch.h"
#include "ops/linalg/orthogonal.h"
#include "ops/linalg/solvers.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

double WorkOf(const MatrixBatch& a) {
  return static_cast<double>(a.size()) * static_cast<double>(a.smaller());
}

}  // namespace

void Cholesky(const KernelContext&, const Tensor& x, bool upper, Tensor* out) {
  if (out->numel() == 0) return;
  const MatrixBatch a(x);
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    ForMatrices(a.count, WorkOf(a) / 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t failed =
            dense::Cholesky<T>(x.data<T>() + i * a.size(), a.rows, upper,
                               out->data<T>() + i * a.size());
        if (failed >= 0) {
          FailArgument("cholesky: ", NameMatrix(x, i),
                       " is not positive definite: its leading ", failed + 1,
                       " x ", failed + 1, " part is not; x is ", Describe(x));
        }
      }
    });
  });
}

void Lu(const KernelContext&, const Tensor& x, bool pivot, Tensor* out,
        Tensor* pivots, Tensor* infos) {
  const MatrixBatch a(x);
  if (a.size() == 0) {
    std::fill_n(infos->data<int32_t>(), infos->numel(), 0);
    return;
  }
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    ForMatrices(a.count, WorkOf(a), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        infos->data<int32_t>()[i] =
            dense::Lu<T>(x.data<T>() + i * a.size(), a.rows, a.columns, pivot,
                         out->data<T>() + i * a.size(),
                         pivots->data<int32_t>() + i * a.smaller());
      }
    });
  });
}

void LuPermutation(const KernelContext&, const Tensor& pivots, int64_t rows,
                   DType dtype, Tensor* out) {
  const int64_t swaps = pivots.size(pivots.rank() - 1);
  const MatrixBatch to(*out);
  VisitFactored(dtype, [&]<typename T>(T) {
    std::fill_n(out->data<T>(), out->numel(), T(0));
    ForMatrices(
        to.count, static_cast<double>(rows), [&](int64_t begin, int64_t end) {
          std::vector<int64_t> row_of(rows);
          for (int64_t i = begin; i < end; ++i) {
            for (int64_t r = 0; r < rows; ++r) row_of[r] = r;
            for (int64_t k = 0; k < swaps; ++k) {
              const int64_t other =
                  pivots.data<int32_t>()[i * swaps + k] - int64_t{1};
              PROA_REQUIRE(other >= 0 && other < rows, "lu_unpack: pivot ",
                           other + 1, " is no row from 1 to ", rows,
                           "; pivots is ", Describe(pivots));
              std::swap(row_of[k], row_of[other]);
            }
            // Row k of L U is row row_of[k] of the matrix.
            T* p = out->data<T>() + i * to.size();
            for (int64_t k = 0; k < rows; ++k) p[row_of[k] * rows + k] = T(1);
          }
        });
  });
}

void Qr(const KernelContext&, const Tensor& x, std::string_view mode, Tensor* q,
        Tensor* r) {
  const MatrixBatch a(x);
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    if (a.size() == 0) {
      if (mode != "r") FillIdentity<T>(q);
      std::fill_n(r->data<T>(), r->numel(), T(0));
      return;
    }
    const int64_t columns = mode == "complete" ? a.rows : a.smaller();
    ForMatrices(a.count, 2 * WorkOf(a), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        dense::Qr<T>(
            x.data<T>() + i * a.size(), a.rows, a.columns, columns,
            mode == "r" ? nullptr : q->data<T>() + i * a.rows * columns,
            r->data<T>() + i * columns * a.columns);
      }
    });
  });
}

}  // namespace proa::inline v0::ops::cpu
