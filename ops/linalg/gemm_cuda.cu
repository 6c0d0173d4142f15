#include "ops/linalg/gemm_cuda.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "ops/primitives/cuda/blas.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/plan.h"
#include "ops/primitives/cuda/precision.h"
#include "tensor/cuda/strided_copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

cudaDataType_t TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CUDA_R_16F;
    case DType::kBFloat16:
      return CUDA_R_16BF;
    case DType::kFloat32:
      return CUDA_R_32F;
    default:
      return CUDA_R_64F;
  }
}

cublasComputeType_t ComputeTypeOf(DType dtype) {
  if (dtype == DType::kFloat64) return CUBLAS_COMPUTE_64F;
  if (dtype == DType::kFloat32 && Tf32Allowed()) {
    return CUBLAS_COMPUTE_32F_FAST_TF32;
  }
  return CUBLAS_COMPUTE_32F;
}

// One and beta in the type that results are scaled in.
struct Factors {
  explicit Factors(DType dtype, double b) : wide(dtype == DType::kFloat64) {
    if (wide) {
      beta64 = b;
    } else {
      beta32 = static_cast<float>(b);
    }
  }
  const void* one() const {
    return wide ? static_cast<const void*>(&one64) : &one32;
  }
  const void* beta() const {
    return wide ? static_cast<const void*>(&beta64) : &beta32;
  }
  bool wide;
  double one64 = 1, beta64 = 0;
  float one32 = 1, beta32 = 0;
};

// A row-major matrix as cuBLAS, which counts by columns, sees it: its
// transpose, or itself.
struct Layout {
  const void* data;
  cublasOperation_t op;  // that makes the transpose of the row-major matrix
  int64_t ld;
};

// Whether the elements of rows, or of columns, lie one behind the other.
std::optional<Layout> LayoutOf(const GemmOperand& m, int64_t rows,
                               int64_t columns) {
  const bool rows_dense = columns == 1 || m.column_stride == 1;
  const int64_t row_step =
      rows == 1 ? std::max<int64_t>(columns, 1) : m.row_stride;
  if (rows_dense && row_step >= std::max<int64_t>(columns, 1)) {
    return Layout{m.data, CUBLAS_OP_N, row_step};
  }
  const bool columns_dense = rows == 1 || m.row_stride == 1;
  const int64_t column_step =
      columns == 1 ? std::max<int64_t>(rows, 1) : m.column_stride;
  if (columns_dense && column_step >= std::max<int64_t>(rows, 1)) {
    return Layout{m.data, CUBLAS_OP_T, column_step};
  }
  return std::nullopt;
}

int64_t Product(const DimVector& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

// Bytes of a dense copy of `m`, without the batch dims that it does not have.
int64_t DenseBytes(const GemmOperand& m, const DimVector& batch, int64_t rows,
                   int64_t columns, int64_t item) {
  int64_t n = rows * columns * item;
  for (size_t d = 0; d < batch.size(); ++d) {
    if (m.batch_strides[d] != 0) n *= batch[d];
  }
  return n;
}

// Copies `m` to `to`, row after row, and makes it that.
void MakeDense(GemmOperand* m, const DimVector& batch, int64_t rows,
               int64_t columns, int64_t item, void* to, cudaStream_t stream) {
  DimVector sizes, from, into;
  for (size_t d = 0; d < batch.size(); ++d) {
    if (m->batch_strides[d] == 0) continue;
    sizes.push_back(batch[d]);
    from.push_back(m->batch_strides[d] * item);
  }
  sizes.push_back(rows);
  from.push_back(m->row_stride * item);
  sizes.push_back(columns);
  from.push_back(m->column_stride * item);
  into.resize(sizes.size());
  int64_t step = item;
  for (int d = static_cast<int>(sizes.size()) - 1; d >= 0; --d) {
    into[d] = step;
    step *= sizes[d];
  }
  PROA_REQUIRE(
      CudaStridedCopy(to, into.data(), m->data, from.data(), sizes.data(),
                      static_cast<int>(sizes.size()), item, stream),
      "gpu: a matrix with too many batch dims; reshape it first");
  m->data = to;
  m->row_stride = columns;
  m->column_stride = 1;
  for (size_t d = 0, own = 0; d < batch.size(); ++d) {
    if (m->batch_strides[d] != 0) {
      m->batch_strides[d] = into[own++] / item;
    }
  }
}

// Addresses of the matrices of a batch of several dims.
__global__ void FillPointers(const char* a, const char* b, char* c,
                             const void** to_a, const void** to_b, void** to_c,
                             uint32_t n, int64_t c_bytes, Offsets<2> offsets) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t offset[2];
  offsets.At(i, offset);
  to_a[i] = a + offset[0];
  to_b[i] = b + offset[1];
  to_c[i] = c + i * c_bytes;
}

void Multiply(const KernelContext& ctx, const GemmProblem& p, const Layout& a,
              const Layout& b, double beta) {
  const cublasHandle_t blas = BlasOf(ctx);
  const cudaDataType_t type = TypeOf(p.dtype), to = TypeOf(p.ResultType());
  const cublasComputeType_t compute = ComputeTypeOf(p.dtype);
  const Factors f(p.dtype, beta);
  const int64_t count = Product(p.batch);
  if (p.batch.size() <= 1) {
    const int64_t a_step = p.batch.empty() ? 0 : p.a.batch_strides[0];
    const int64_t b_step = p.batch.empty() ? 0 : p.b.batch_strides[0];
    CheckBlas(cublasGemmStridedBatchedEx_64(
                  blas, b.op, a.op, p.n, p.m, p.k, f.one(), b.data, type, b.ld,
                  b_step, a.data, type, a.ld, a_step, f.beta(), p.c, to, p.n,
                  p.m * p.n, count, compute, CUBLAS_GEMM_DEFAULT),
              "matrix product");
    return;
  }
  const int64_t item = ItemSize(p.dtype);
  PROA_REQUIRE(
      count <= kMostPositions && static_cast<int>(p.batch.size()) <= kMaxDims,
      "gpu: a batch of matrix products with too many dims");
  const Workspace memory(ctx, 3 * count * static_cast<int64_t>(sizeof(void*)));
  auto** pointers = memory.as<const void*>();
  Offsets<2> offsets;
  offsets.rank = static_cast<int>(p.batch.size());
  for (int d = 0; d < offsets.rank; ++d) {
    const size_t from = p.batch.size() - 1 - static_cast<size_t>(d);
    offsets.dims[d] = Divider(static_cast<uint32_t>(p.batch[from]));
    offsets.strides[0][d] = p.a.batch_strides[from] * item;
    offsets.strides[1][d] = p.b.batch_strides[from] * item;
  }
  FillPointers<<<static_cast<uint32_t>(CeilDiv(count, 256)), 256, 0,
                 StreamOf(ctx)>>>(
      static_cast<const char*>(a.data), static_cast<const char*>(b.data),
      static_cast<char*>(p.c), pointers, pointers + count,
      const_cast<void**>(pointers + 2 * count), static_cast<uint32_t>(count),
      p.m * p.n * ItemSize(p.ResultType()), offsets);
  CheckLaunch("addresses of matrices");
  CheckBlas(
      cublasGemmBatchedEx_64(blas, b.op, a.op, p.n, p.m, p.k, f.one(),
                             pointers + count, type, b.ld, pointers, type, a.ld,
                             f.beta(), const_cast<void**>(pointers + 2 * count),
                             to, p.n, count, compute, CUBLAS_GEMM_DEFAULT),
      "matrix product");
}

// Each row of C becomes the bias.
void SpreadBias(const KernelContext& ctx, const GemmProblem& p) {
  const int64_t item = ItemSize(p.ResultType());
  const int64_t sizes[] = {Product(p.batch) * p.m, p.n};
  const int64_t to[] = {p.n * item, item}, from[] = {0, item};
  CudaStridedCopy(p.c, to, p.bias, from, sizes, 2, item, StreamOf(ctx));
}

// A descriptor that goes with its owner.
template <class T, cublasStatus_t (*kDestroy)(T)>
struct Owned {
  T value = nullptr;
  ~Owned() {
    if (value != nullptr) kDestroy(value);
  }
};

// What cuBLASLt found to be the best for a product with a bias, by geometry.
using Geometry = std::array<int64_t, 9>;
struct Choice {
  bool any = false;
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace = 0;
};

// False if cuBLASLt has no kernel for it.
bool MultiplyWithBias(const KernelContext& ctx, const GemmProblem& p,
                      const Layout& a, const Layout& b) {
  constexpr size_t kMostWorkspace = size_t{32} << 20;
  const cublasLtHandle_t lt = BlasLtOf(ctx);
  const cudaDataType_t type = TypeOf(p.dtype);
  const Factors f(p.dtype, 0);
  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> product;
  CheckBlas(cublasLtMatmulDescCreate(&product.value, ComputeTypeOf(p.dtype),
                                     f.wide ? CUDA_R_64F : CUDA_R_32F),
            "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& v) {
    CheckBlas(
        cublasLtMatmulDescSetAttribute(product.value, name, &v, sizeof(v)),
        "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, b.op);
  set(CUBLASLT_MATMUL_DESC_TRANSB, a.op);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  using LayoutDesc = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
  LayoutDesc first, second, result;
  const auto describe = [&](LayoutDesc& d, bool swap, int64_t rows,
                            int64_t columns, int64_t ld) {
    if (swap) std::swap(rows, columns);
    CheckBlas(
        cublasLtMatrixLayoutCreate(&d.value, type, static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(columns), ld),
        "cublasLtMatrixLayoutCreate");
  };
  describe(first, b.op == CUBLAS_OP_T, p.n, p.k, b.ld);
  describe(second, a.op == CUBLAS_OP_T, p.k, p.m, a.ld);
  describe(result, false, p.n, p.m, p.n);

  // Algorithms depend on how operands are aligned, 16 bytes being the best.
  const auto alignment = [](const void* q) {
    return reinterpret_cast<uintptr_t>(q) % 16 == 0 ? 1 : 0;
  };
  const Geometry key = {
      ctx.place.index,
      static_cast<int64_t>(p.dtype) * 2 + (Tf32Allowed() ? 1 : 0),
      p.m,
      p.n,
      p.k,
      a.ld * 2 + (a.op == CUBLAS_OP_T),
      b.ld * 2 + (b.op == CUBLAS_OP_T),
      alignment(a.data) * 2 + alignment(b.data),
      alignment(p.c) * 2 + alignment(p.bias)};
  static thread_local std::map<Geometry, Choice> choices;
  auto found = choices.find(key);
  if (found == choices.end()) {
    if (choices.size() > 4096) choices.clear();
    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> wish;
    CheckBlas(cublasLtMatmulPreferenceCreate(&wish.value),
              "cublasLtMatmulPreferenceCreate");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t name,
                            const auto& v) {
      CheckBlas(
          cublasLtMatmulPreferenceSetAttribute(wish.value, name, &v, sizeof(v)),
          "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    const auto bytes = [](const void* q) {
      const auto at = reinterpret_cast<uintptr_t>(q);
      return static_cast<uint32_t>(at % 256 == 0 ? 256 : at & (~at + 1));
    };
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, bytes(b.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, bytes(a.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, bytes(p.c));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, bytes(p.c));
    cublasLtMatmulHeuristicResult_t best = {};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        lt, product.value, first.value, second.value, result.value,
        result.value, wish.value, 1, &best, &count);
    Choice choice;
    if (status == CUBLAS_STATUS_SUCCESS && count > 0) {
      choice = {true, best.algo, best.workspaceSize};
    }
    found = choices.emplace(key, choice).first;
  }
  const Choice& choice = found->second;
  if (!choice.any) return false;
  const Workspace workspace(ctx, static_cast<int64_t>(choice.workspace));
  CheckBlas(cublasLtMatmul(lt, product.value, f.one(), b.data, first.value,
                           a.data, second.value, f.beta(), p.c, result.value,
                           p.c, result.value, &choice.algorithm,
                           workspace.data(), choice.workspace, StreamOf(ctx)),
            "matrix product with bias");
  return true;
}

}  // namespace

void Gemm(const KernelContext& ctx, GemmProblem& p) {
  SimplifyGemm(p);
  const int64_t item = ItemSize(p.dtype);
  const cudaStream_t stream = StreamOf(ctx);
  const int64_t results = Product(p.batch) * p.m * p.n;
  if (results == 0) return;
  if (p.k == 0) {
    if (p.bias != nullptr) return SpreadBias(ctx, p);
    CheckCuda(
        cudaMemsetAsync(p.c, 0,
                        static_cast<size_t>(results * ItemSize(p.ResultType())),
                        stream),
        "cudaMemsetAsync");
    return;
  }
  std::optional<Layout> a = LayoutOf(p.a, p.m, p.k);
  std::optional<Layout> b = LayoutOf(p.b, p.k, p.n);
  const Workspace of_a(ctx, a ? 0 : DenseBytes(p.a, p.batch, p.m, p.k, item));
  const Workspace of_b(ctx, b ? 0 : DenseBytes(p.b, p.batch, p.k, p.n, item));
  if (!a) {
    MakeDense(&p.a, p.batch, p.m, p.k, item, of_a.data(), stream);
    a = LayoutOf(p.a, p.m, p.k);
  }
  if (!b) {
    MakeDense(&p.b, p.batch, p.k, p.n, item, of_b.data(), stream);
    b = LayoutOf(p.b, p.k, p.n);
  }
  if (p.bias == nullptr) return Multiply(ctx, p, *a, *b, 0);
  if (p.batch.empty() && p.dtype != DType::kFloat64 && !p.float_result &&
      MultiplyWithBias(ctx, p, *a, *b)) {
    return;
  }
  SpreadBias(ctx, p);
  Multiply(ctx, p, *a, *b, 1);
}

}  // namespace proa::inline v0::ops::cuda
