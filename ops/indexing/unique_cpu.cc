// Kernels that find the different elements (or slices) of a tensor.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "ops/indexing/sort_kernels.h"
#include "ops/primitives/cpu/gather.h"
#include "ops/primitives/cpu/sort.h"
#include "ops/primitives/cpu/strided_copy.h"

namespace proa::inline v0::ops::cpu {
namespace {

// The things that are compared: n items of `size` elements, item i contiguous
// at i * size: slices along an axis, first brought into this form.
struct Items {
  Tensor data;
  int64_t n = 0, size = 1;
  int axis = 0;
};

Items ItemsOf(const Tensor& x, int64_t axis) {
  Items items;
  items.axis = NormalizeAxis("unique", axis, x.rank());
  Shape shape{x.size(items.axis)};
  Strides strides{x.strides()[items.axis]};
  for (int i = 0; i < x.rank(); ++i) {
    if (i == items.axis) continue;
    shape.push_back(x.size(i));
    strides.push_back(x.strides()[i]);
    items.size *= x.size(i);
  }
  items.n = shape[0];
  items.data = Tensor::Empty(shape, x.dtype(), x.place());
  CopyElements(x.AsStrided(shape, strides, 0), items.data);
  return items;
}

// The chosen items in the form that x had.
Tensor Choose(const Tensor& x, const Items& items,
              const std::vector<int64_t>& chosen) {
  const int64_t count = static_cast<int64_t>(chosen.size());
  const int64_t row_bytes = items.size * ItemSize(x.dtype());
  Shape shape{count};
  for (int i = 1; i < items.data.rank(); ++i)
    shape.push_back(items.data.size(i));
  const Tensor rows = Tensor::Empty(shape, x.dtype(), x.place());
  GatherRows(1, items.n, row_bytes, chosen, items.data.raw_data(),
             rows.raw_data());
  Shape out_shape = x.shape();
  out_shape[items.axis] = count;
  Strides strides = rows.strides();
  const int64_t first = strides[0];
  strides.erase(strides.begin());
  strides.insert(strides.begin() + items.axis, first);
  const Tensor out = Tensor::Empty(out_shape, x.dtype(), x.place());
  CopyElements(rows.AsStrided(out_shape, strides, 0), out);
  return out;
}

// -1, 0, 1: order of two items; NaNs are equal to each other and above numbers.
template <typename T>
int Compare(const T* a, const T* b, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    const auto ka = SortKey(a[i]), kb = SortKey(b[i]);
    if (ka != kb) return ka < kb ? -1 : 1;
  }
  return 0;
}

Tensor FromVector(const std::vector<int64_t>& v) {
  const Tensor t =
      Tensor::Empty({static_cast<int64_t>(v.size())}, DType::kInt64);
  std::copy(v.begin(), v.end(), t.data<int64_t>());
  return t;
}

// Groups neighbours in `order` that are equal: the first of each group, for
// each item its group, and the sizes.
struct Groups {
  std::vector<int64_t> first, inverse, counts;
};

template <typename T>
Groups GroupEqual(const Items& items, const std::vector<int64_t>& order) {
  const T* data = items.data.data<T>();
  Groups groups;
  groups.inverse.resize(items.n);
  for (int64_t k = 0; k < items.n; ++k) {
    const int64_t i = order[k];
    if (k == 0 || Compare(data + order[k - 1] * items.size,
                          data + i * items.size, items.size) != 0) {
      groups.first.push_back(i);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[i] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

template <typename T>
std::vector<int64_t> StableOrder(const Items& items) {
  std::vector<int64_t> order(items.n);
  const T* data = items.data.data<T>();
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return Compare(data + a * items.size, data + b * items.size, items.size) <
           0;
  });
  return order;
}

template <typename F>
Groups Grouped(const Tensor& x, const Items& items, F order_of) {
  Groups groups;
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T> tag) {
    if constexpr (kSortable<T>) groups = GroupEqual<T>(items, order_of(tag));
  });
  return groups;
}

// Of the elements at(0), at(1), ... of x, of which `inverse` says what run each
// is in, up to `last`: the first of each run, its place (unless null), and the
// lengths. Without branches: where a run ends is not to be predicted.
template <typename T, typename At>
void WriteRuns(const Tensor& x, At at, int64_t last, const Tensor& inverse,
               Tensor* out, Tensor* index, Tensor* counts) {
  const int64_t n = x.numel();
  *out = Tensor::Empty({last + 1}, x.dtype(), x.place());
  *counts = Tensor::Empty({last + 1}, DType::kInt64, x.place());
  const int64_t* run_of = inverse.data<int64_t>();
  const T* from = x.data<T>();
  T* to = out->data<T>();
  int64_t* start = counts->data<int64_t>();
  // From the last on: what stays is the first of each run.
  for (int64_t k = n; k-- > 0;) {
    const int64_t run = run_of[at(k)];
    to[run] = from[at(k)];
    start[run] = k;
  }
  if (index != nullptr) {
    *index = Tensor::Empty({last + 1}, DType::kInt64, x.place());
    for (int64_t r = 0; r <= last; ++r)
      index->data<int64_t>()[r] = at(start[r]);
  }
  for (int64_t r = 0; r < last; ++r) start[r] = start[r + 1] - start[r];
  if (n > 0) start[last] = n - start[last];
}

// A number that is equal for those elements for which SortKey is, and less
// work.
template <typename T>
KeyOf<T> EqualKey(T v) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<KeyOf<T>>(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    const T unsigned_zero = v + T(0);
    return std::bit_cast<KeyOf<T>>(
        v == v ? unsigned_zero : std::numeric_limits<T>::quiet_NaN());
  } else {
    return SortKey(v);
  }
}

// What `unique` gives of the elements in the order in which they lie.
template <typename T>
void FindNeighbours(const Tensor& x, Tensor* out, Tensor* index,
                    Tensor* inverse, Tensor* counts) {
  constexpr int64_t kPiece = 256;
  const int64_t n = x.numel();
  *inverse = Tensor::Empty({n}, DType::kInt64, x.place());
  const T* from = x.data<T>();
  int64_t* run_of = inverse->data<int64_t>();
  int64_t last = n > 0 ? 0 : -1;
  KeyOf<T> keys[kPiece], before = n > 0 ? EqualKey(from[0]) : KeyOf<T>();
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t m = std::min(n - begin, kPiece);
    if (m == kPiece) {  // of a fixed length, which is computed in vectors
      for (int64_t k = 0; k < kPiece; ++k) keys[k] = EqualKey(from[begin + k]);
    } else {
      for (int64_t k = 0; k < m; ++k) keys[k] = EqualKey(from[begin + k]);
    }
    for (int64_t k = 0; k < m; ++k) {
      last += keys[k] != before;
      before = keys[k];
      run_of[begin + k] = last;
    }
  }
  WriteRuns<T>(
      x, [](int64_t k) { return k; }, last, *inverse, out, index, counts);
}

template <typename T>
void FindSorted(const Tensor& x, Tensor* out, Tensor* index, Tensor* inverse,
                Tensor* counts) {
  if (x.numel() == 0) return FindNeighbours<T>(x, out, index, inverse, counts);
  SortLines(x.data<T>(), Lines(Shape{x.numel()}, 0), false,
            [&](int64_t, const auto& items) {
              const auto at = [&](int64_t k) { return items[k].index; };
              *inverse = Tensor::Empty({x.numel()}, DType::kInt64, x.place());
              int64_t* run_of = inverse->data<int64_t>();
              int64_t last = 0;
              for (int64_t k = 0; k < x.numel(); ++k) {
                last += k > 0 && items[k].key != items[k - 1].key;
                run_of[at(k)] = last;
              }
              WriteRuns<T>(x, at, last, *inverse, out, index, counts);
            });
}

// Whether single elements are compared, whatever the shape.
bool IsOfElements(const Tensor& x, std::optional<int64_t> axis) {
  if (!axis.has_value() || x.rank() == 0) return true;
  NormalizeAxis("unique", *axis, x.rank());
  return x.rank() == 1;
}

}  // namespace

void Unique(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            Tensor* out, Tensor* index, Tensor* inverse, Tensor* counts) {
  if (IsOfElements(x, axis)) {
    return VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
      if constexpr (kSortable<T>) FindSorted<T>(x, out, index, inverse, counts);
    });
  }
  const Items items = ItemsOf(x, *axis);
  const Groups groups = Grouped(
      x, items, [&]<typename T>(TypeTag<T>) { return StableOrder<T>(items); });
  *out = Choose(x, items, groups.first);
  *index = FromVector(groups.first);
  *inverse = FromVector(groups.inverse);
  *counts = FromVector(groups.counts);
}

void UniqueConsecutive(const KernelContext&, const Tensor& x,
                       std::optional<int64_t> axis, Tensor* out,
                       Tensor* inverse, Tensor* counts) {
  if (IsOfElements(x, axis)) {
    return VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
      if constexpr (kSortable<T>)
        FindNeighbours<T>(x, out, nullptr, inverse, counts);
    });
  }
  const Items items = ItemsOf(x, *axis);
  std::vector<int64_t> order(items.n);
  std::iota(order.begin(), order.end(), int64_t{0});
  const Groups groups = Grouped(x, items, [&](auto) { return order; });
  *out = Choose(x, items, groups.first);
  *inverse = FromVector(groups.inverse);
  *counts = FromVector(groups.counts);
}

}  // namespace proa::inline v0::ops::cpu
