// Kernels of layout.yaml.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "ops/sparse/compressed.h"
#include "ops/sparse/coordinates.h"
#include "ops/sparse/layout_kernels.h"
#include "ops/sparse/merge.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {
namespace {

Shape ShapeOf(const IntArray& shape) { return Shape(shape.values()); }

int64_t Length(const std::vector<int64_t>& v) {
  return static_cast<int64_t>(v.size());
}

}  // namespace

void CooCheck(const KernelContext&, const Tensor& indices,
              const IntArray& shape, Tensor* out) {
  PlacesOf("coo_check", indices, ShapeOf(shape));
  VisitDType(indices.dtype(), [&]<typename T>(TypeTag<T>) {
    std::copy_n(indices.data<T>(), indices.numel(), out->data<T>());
  });
}

void CooCoalesce(const KernelContext&, const Tensor& indices,
                 const IntArray& shape, Tensor* out, Tensor* inverse) {
  const char* const op = "coo_coalesce";
  std::vector<int64_t> places = PlacesOf(op, indices, ShapeOf(shape));
  *inverse = Tensor::Empty({indices.size(1)}, DType::kInt64);
  int64_t* const numbers = inverse->data<int64_t>();
  if (Rise(places)) {
    std::iota(numbers, numbers + places.size(), int64_t{0});
  } else {
    std::vector<int64_t> found;
    places = Distinct(places, &found);
    std::copy(found.begin(), found.end(), numbers);
  }
  *out = IndicesAt(op, places, ShapeOf(shape), indices.dtype());
}

void CooCrows(const KernelContext&, const Tensor& indices,
              const IntArray& shape, Tensor* out) {
  const char* const op = "coo_crows";
  const Shape sizes = ShapeOf(shape);
  const int64_t rows = sizes[sizes.rank() - 2];
  const int64_t columns = sizes[sizes.rank() - 1];
  const std::vector<int64_t> places = PlacesOf(op, indices, sizes);
  RequireCoalesced(op, "indices", indices, places);
  const int64_t batch = sizes.rank() == 3 ? sizes[0] : 1;
  std::vector<int64_t> crows(out->numel());
  size_t at = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const size_t first = at;
    crows[b * (rows + 1)] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      while (at < places.size() && places[at] / columns == b * rows + r) ++at;
      crows[b * (rows + 1) + r + 1] = static_cast<int64_t>(at - first);
    }
  }
  *out = NumbersIn(op, crows, indices.dtype());
}

namespace {

// Throws Error where a row has a column twice.
void RequireDistinct(const char* op, std::span<const int64_t> cols,
                     int64_t row) {
  if (Rise(cols)) return;
  std::vector<int64_t> sorted(cols.begin(), cols.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  PROA_REQUIRE(twice == sorted.end(), op, ": row ", row, " has column ",
               twice == sorted.end() ? 0 : *twice,
               " twice; a COO tensor may have elements at one place");
}

}  // namespace

void CsrIndices(const KernelContext&, const Tensor& crows, const Tensor& cols,
                const IntArray& shape, Tensor* out) {
  const Compressed x("csr_indices", crows, cols, ShapeOf(shape));
  const int64_t count = cols.numel();
  VisitDType(out->dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      T* to = out->data<T>();
      T* const batches = shape.size() == 3 ? to : nullptr;
      if (batches != nullptr) to += count;
      parallel_for(
          0, x.batch() * x.rows(), 1024, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
              const T row = static_cast<T>(r % x.rows());
              const T b = static_cast<T>(r / x.rows());
              RequireDistinct(
                  "csr_indices",
                  x.cols().subspan(x.starts()[r],
                                   x.starts()[r + 1] - x.starts()[r]),
                  r);
              for (int64_t e = x.starts()[r]; e < x.starts()[r + 1]; ++e) {
                to[e] = row;
                if (batches != nullptr) batches[e] = b;
              }
            }
          });
      std::copy(x.cols().begin(), x.cols().end(), to + count);
    }
  });
}

namespace {

// A product of two elements, and the column that it belongs to.
struct Pair {
  int64_t column, left, right;
};

// The products of a row of x, by columns, each of those in the order of x.
std::vector<Pair> PairsOfRow(std::span<const int64_t> firsts,
                             std::span<const int64_t> lasts,
                             std::span<const int64_t> y, int64_t columns,
                             int64_t begin, int64_t end) {
  std::vector<Pair> pairs;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = firsts[i]; j < lasts[i]; ++j) {
      pairs.push_back({y[j] % columns, i, j});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.column != b.column ? a.column < b.column : a.left < b.left;
  });
  return pairs;
}

}  // namespace

void CooProduct(const KernelContext&, const Tensor& x_indices,
                const Tensor& y_indices, const IntArray& x_shape,
                const IntArray& y_shape, Tensor* out, Tensor* left,
                Tensor* right, Tensor* target) {
  const char* const op = "coo_product";
  const Shape xs = ShapeOf(x_shape), ys = ShapeOf(y_shape);
  const int rank = xs.rank();
  const int64_t rows = xs[rank - 2], inner = xs[rank - 1],
                columns = ys[rank - 1];
  const std::vector<int64_t> x = PlacesOf(op, x_indices, xs);
  const std::vector<int64_t> y = PlacesOf(op, y_indices, ys);
  RequireCoalesced(op, "x_indices", x_indices, x);
  RequireCoalesced(op, "y_indices", y_indices, y);
  // The elements of y that each one of x meets: those of a row.
  std::vector<int64_t> firsts(x.size()), lasts(x.size());
  parallel_for(0, Length(x), 512, [&](int64_t begin, int64_t end) {
    const auto row_of = [&](int64_t i) {
      return x[i] / inner / rows * inner + x[i] % inner;
    };
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = row_of(i) * columns;
      const auto from = std::lower_bound(y.begin(), y.end(), place);
      firsts[i] = from - y.begin();
      lasts[i] = std::lower_bound(from, y.end(), place + columns) - y.begin();
    }
  });
  // Rows of x that have elements.
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < Length(x); ++i) {
    if (i == 0 || x[i] / inner != x[i - 1] / inner) starts.push_back(i);
  }
  const int64_t lines = Length(starts);
  starts.push_back(Length(x));
  std::vector<std::vector<Pair>> pairs(lines);
  parallel_for(0, lines, 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      pairs[r] =
          PairsOfRow(firsts, lasts, y, columns, starts[r], starts[r + 1]);
    }
  });
  int64_t total = 0;
  for (const auto& row : pairs) total += static_cast<int64_t>(row.size());
  for (Tensor* t : {left, right, target}) {
    *t = Tensor::Empty({total}, DType::kInt64);
  }
  Shape result = xs;
  result[rank - 1] = columns;
  result.numel();  // refuses what no number counts
  std::vector<int64_t> places;
  int64_t p = 0;
  for (int64_t r = 0; r < lines; ++r) {
    const int64_t first = x[starts[r]] / inner * columns;
    for (const Pair& pair : pairs[r]) {
      const int64_t place = first + pair.column;
      if (places.empty() || places.back() != place) places.push_back(place);
      left->data<int64_t>()[p] = pair.left;
      right->data<int64_t>()[p] = pair.right;
      target->data<int64_t>()[p++] = Length(places) - 1;
    }
  }
  *out = IndicesAt(op, places, result, x_indices.dtype());
}

}  // namespace proa::inline v0::ops::cpu
