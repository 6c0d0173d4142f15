// Kernels of singular values, eigenvalues and pseudoinverses: each matrix by
// ops/linalg's solvers.
#include "ops/linalg/spectral.h"

#include <algorithm>

#include "ops/linalg/matrix_batch.h"
#include "ops/linalg/orthogonal.h"
#include "ops/linalg/spectral_kernels.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

// About what the iterations cost.
double WorkOf(const MatrixBatch& a) {
  return 10 * static_cast<double>(a.size()) * static_cast<double>(a.smaller());
}

[[noreturn]] void FailToConverge(const char* op, const Tensor& x,
                                 int64_t index) {
  FailArgument(op, ": the iteration for ", NameMatrix(x, index),
               " does not converge; x is ", Describe(x));
}

template <typename T>
void EachSvd(const char* op, const Tensor& x, bool full, Tensor* u, Tensor* s,
             Tensor* vh) {
  using Real = dense::RealOf<T>;
  const MatrixBatch a(x);
  const int64_t columns = full ? a.rows : a.smaller();
  const int64_t rows = full ? a.columns : a.smaller();
  ForMatrices(a.count, WorkOf(a), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!dense::Svd<T>(
              x.data<T>() + i * a.size(), a.rows, a.columns, full,
              u == nullptr ? nullptr : u->data<T>() + i * a.rows * columns,
              s->data<Real>() + i * a.smaller(),
              vh == nullptr ? nullptr : vh->data<T>() + i * rows * a.columns)) {
        FailToConverge(op, x, i);
      }
    }
  });
}

template <typename T>
void EachHermitian(const char* op, const Tensor& x, bool upper, Tensor* w,
                   Tensor* v) {
  using Real = dense::RealOf<T>;
  const MatrixBatch a(x);
  ForMatrices(a.count, WorkOf(a), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!dense::Hermitian<T>(
              x.data<T>() + i * a.size(), a.rows, upper,
              w->data<Real>() + i * a.rows,
              v == nullptr ? nullptr : v->data<T>() + i * a.size())) {
        FailToConverge(op, x, i);
      }
    }
  });
}

template <typename T>
void EachGeneral(const char* op, const Tensor& x, Tensor* w, Tensor* v) {
  using Complex = std::complex<dense::RealOf<T>>;
  const MatrixBatch a(x);
  ForMatrices(a.count, WorkOf(a), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!dense::General<T>(
              x.data<T>() + i * a.size(), a.rows,
              w->data<Complex>() + i * a.rows,
              v == nullptr ? nullptr : v->data<Complex>() + i * a.size())) {
        FailToConverge(op, x, i);
      }
    }
  });
}

}  // namespace

void Svd(const KernelContext&, const Tensor& x, bool full_matrices, Tensor* u,
         Tensor* s, Tensor* vh) {
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    if (x.numel() == 0) {
      FillIdentity<T>(u);
      FillIdentity<T>(vh);
    } else {
      EachSvd<T>("svd", x, full_matrices, u, s, vh);
    }
  });
}

void SvdVals(const KernelContext&, const Tensor& x, Tensor* out) {
  if (out->numel() == 0) return;
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    EachSvd<T>("svdvals", x, false, nullptr, out, nullptr);
  });
}

void Eigh(const KernelContext&, const Tensor& x, std::string_view uplo,
          Tensor* eigenvalues, Tensor* eigenvectors) {
  if (x.numel() == 0) return;
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    EachHermitian<T>("eigh", x, uplo == "U", eigenvalues, eigenvectors);
  });
}

void EigValsH(const KernelContext&, const Tensor& x, std::string_view uplo,
              Tensor* out) {
  if (x.numel() == 0) return;
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    EachHermitian<T>("eigvalsh", x, uplo == "U", out, nullptr);
  });
}

void Eig(const KernelContext&, const Tensor& x, Tensor* eigenvalues,
         Tensor* eigenvectors) {
  if (x.numel() == 0) return;
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    EachGeneral<T>("eig", x, eigenvalues, eigenvectors);
  });
}

void EigVals(const KernelContext&, const Tensor& x, Tensor* out) {
  if (x.numel() == 0) return;
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    EachGeneral<T>("eigvals", x, out, nullptr);
  });
}

void PInv(const KernelContext&, const Tensor& x, const Tensor& rcond,
          bool hermitian, Tensor* out) {
  if (x.numel() == 0) return;
  const MatrixBatch a(x);
  VisitFactored(x.dtype(), [&]<typename T>(T) {
    // [] or one number for each matrix.
    const double* limits = rcond.data<double>();
    const int64_t step = rcond.numel() == 1 ? 0 : 1;
    ForMatrices(a.count, WorkOf(a), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* matrix = x.data<T>() + i * a.size();
        T* to = out->data<T>() + i * a.size();
        const double limit = limits[i * step];
        const bool converged =
            hermitian
                ? dense::HermitianPseudoInverse<T>(matrix, a.rows, limit, to)
                : dense::PseudoInverse<T>(matrix, a.rows, a.columns, limit, to);
        if (!converged) FailToConverge("pinv", x, i);
      }
    });
  });
}

}  // namespace proa::inline v0::ops::cpu
