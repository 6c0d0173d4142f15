// The products of the op rnn: over all steps at once, and of each step with the
// same weight. Compiled once per instruction set.
//
// `low`: operands are rounded to bfloat16 where the CPU multiplies that; sums
// are float.
#ifndef PROA_OPS_RECURRENT_RNN_PRODUCTS_H_
#define PROA_OPS_RECURRENT_RNN_PRODUCTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "ops/linalg/gemm.h"
#include "ops/nn/float_copy.h"
#include "ops/primitives/cpu/convert.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "ops/recurrent/low_step_product.h"
#include "ops/recurrent/step_product.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

template <typename A>
Tensor Scratch(int64_t elements) {
  return Tensor::Empty({elements}, kDTypeOf<A>, Place());
}

// A dense matrix that products read: of A, or of bfloat16 for those that are
// low. The first low one rounds it for all.
template <typename A>
class Factor {
 public:
  Factor(const A* data, int64_t elements)
      : data_(data), elements_(elements), low_(std::make_shared<Tensor>()) {}
  explicit Factor(const Tensor& t) : Factor(t.data<A>(), t.numel()) {
    owner_ = t;
  }
  // Of a weight, which may be kept packed unless it must be copied.
  static Factor Weight(const Tensor& weight) {
    const Tensor t = FloatCopy(weight, kDTypeOf<A>);
    Factor f(t);
    f.is_weight_ = true;
    f.is_copy_ = !t.is_same(weight);
    return f;
  }
  // Of bfloat16 already; there is no data().
  static Factor Low(const Tensor& t) {
    Factor f(nullptr, t.numel());
    *f.low_ = t;
    return f;
  }

  // Some elements of it, one behind the other.
  Factor Part(int64_t begin, int64_t elements) const {
    // A matrix without elements has no data either.
    if (low_->defined() && data_ == nullptr) {
      return Low(low_->AsStrided({elements}, {1}, begin));
    }
    Factor f(data_ + begin, elements);
    f.owner_ = owner_;
    return f;
  }

  const A* data() const { return data_; }
  bool is_weight() const { return is_weight_; }
  // The weight that data() is of, to be kept packed; or null.
  const Tensor* kept() const {
    return is_weight_ && !is_copy_ ? &owner_ : nullptr;
  }
  const void* low() const {
    if (!low_->defined()) {
      *low_ = Scratch<bfloat16>(elements_);
      cpu::ConvertInParallel(kDTypeOf<A>, data_, DType::kBFloat16,
                             low_->raw_data(), elements_);
    }
    return low_->raw_data();
  }

 private:
  const A* data_;
  int64_t elements_;
  Tensor owner_;
  bool is_weight_ = false, is_copy_ = false;
  std::shared_ptr<Tensor> low_;
};

// [rows, columns] as [columns, rows].
template <typename A>
Tensor Transposed(const A* from, int64_t rows, int64_t columns) {
  const Tensor to = Scratch<A>(rows * columns);
  cpu::StridedCopy(Shape({columns, rows}), sizeof(A), to.raw_data(), {rows, 1},
                   from, {1, columns});
  return to;
}

struct ProductSizes {
  int64_t rows, columns, depth;
  bool low;
};

// Rows of a product with a weight for which it is packed, and kept: a library
// would copy it first.
inline constexpr int64_t kFewRows = 192;

// c [rows, columns] = a b (+ bias [columns]); a is [rows, depth], or
// transposed as it lies, and so is b [depth, columns].
template <typename A>
void Product(const ProductSizes& s, const Factor<A>& a, bool transpose_a,
             const Factor<A>& b, bool transpose_b, const A* bias, A* c) {
  const int64_t m = s.rows, n = s.columns, k = s.depth;
  if (m == 0 || n == 0) return;
  const bool few = b.is_weight() && m <= kFewRows && !transpose_a;
  if constexpr (std::is_same_v<A, float>) {
    if (s.low || !few) {
      GemmProblem p;
      p.m = m;
      p.n = n;
      p.k = k;
      if (s.low) {
        p.dtype = DType::kBFloat16;
        p.float_result = true;
      }
      p.a = {s.low ? a.low() : a.data(),
             transpose_a ? 1 : k,
             transpose_a ? m : 1,
             {}};
      p.b = {s.low ? b.low() : b.data(),
             transpose_b ? 1 : n,
             transpose_b ? k : 1,
             {}};
      p.bias = bias;
      p.c = c;
      Gemm(p);
      return;
    }
  }
  const Tensor turned = transpose_a ? Transposed(a.data(), k, m) : Tensor();
  const StepProduct<A> product(
      {b.data(), k, n, transpose_b ? 1 : n, transpose_b ? k : 1, b.kept()}, m);
  product.Run(transpose_a ? turned.data<A>() : a.data(), m, c, false, bias);
}

// Columns of the transposed operand that ProductByGates takes at a time; all of
// them where a product of fewer rows would be computed in another order (what
// oneDNN is given to copy, and what in pieces, gemm_onednn.cc decides by
// sizes).
inline int64_t GatesAtOnce(const ProductSizes& s, int64_t hidden) {
  constexpr int64_t kLeast = 128, kWide = 512, kLongSum = 2048;
  if (s.low || s.columns >= kWide || s.depth >= kLongSum) return s.rows;
  const int64_t times = std::max<int64_t>(1, s.rows / std::max(hidden, kLeast));
  return (s.rows + times - 1) / times;
}

// c [rows, columns] = a b; a [depth, rows] is transposed as it lies, b is
// [depth, columns]. By some rows of c at a time: what a library turns first is
// bounded by the size of a gate. `room`: for depth * GatesAtOnce() elements, or
// null.
template <typename A>
void ProductByGates(const ProductSizes& s, int64_t hidden, const Factor<A>& a,
                    const Factor<A>& b, A* room, A* c) {
  const int64_t most = GatesAtOnce(s, hidden);
  if (most == s.rows || std::is_same_v<A, double>)
    return Product<A>(s, a, true, b, false, nullptr, c);
  Tensor own;
  if (room == nullptr) {
    own = Scratch<A>(s.depth * most);
    room = own.data<A>();
  }
  for (int64_t first = 0; first < s.rows; first += most) {
    const int64_t m = std::min(most, s.rows - first);
    cpu::StridedCopy(Shape({s.depth, m}), sizeof(A), room, {m, 1},
                     a.data() + first, {s.rows, 1});
    Product<A>({m, s.columns, s.depth, false}, Factor<A>(room, s.depth * m),
               true, b, false, nullptr, c + first * s.columns);
  }
}

// The product of each step: low only if there are rows enough to make that
// worth it.
template <typename A>
class ProductOfSteps {
 public:
  // B [k, n] has element (q, j) of the dense tensor `weight` at
  // q * row_stride + j * column_stride. `rows`: of A, in all calls together.
  // `room`: k * n elements that are lent while this lives, or null.
  ProductOfSteps(bool low, const Tensor& weight, int64_t k, int64_t n,
                 int64_t row_stride, int64_t column_stride, int64_t rows,
                 A* room = nullptr) {
    const int64_t room_bytes = k * n * static_cast<int64_t>(sizeof(A));
    const auto source = [&](auto kernel, const Tensor& t) {
      using Kernel = decltype(kernel);
      return PanelSource<Kernel>{t.data<typename Kernel::Source>(),
                                 k,
                                 n,
                                 row_stride,
                                 column_stride,
                                 t.is_same(weight) ? &weight : nullptr,
                                 room,
                                 room_bytes};
    };
    if constexpr (std::is_same_v<A, float>) {
      if (low && rows > 8 && k > 0 && LowStepProduct::IsSupported()) {
        copy_ = FloatCopy(weight, DType::kBFloat16);
        low_.emplace(source(LowStepKernel(), copy_));
        return;
      }
    }
    copy_ = FloatCopy(weight, kDTypeOf<A>);
    exact_.emplace(source(StepKernel<A>(), copy_), rows);
  }
  // c [m, n] (+)= a [m, k]; both dense.
  void Run(const A* a, int64_t m, A* c, bool accumulate) const {
    if constexpr (std::is_same_v<A, float>) {
      if (low_) return low_->Run(a, m, c, accumulate);
    }
    exact_->Run(a, m, c, accumulate);
  }

 private:
  Tensor copy_;
  std::optional<StepProduct<A>> exact_;
  std::optional<LowStepProduct> low_;
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_RECURRENT_RNN_PRODUCTS_H_
