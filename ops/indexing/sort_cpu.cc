// Kernels of order along an axis (ops/primitives/cpu/sort.h).
#include <cstdint>
#include <vector>

#include "ops/indexing/sort_kernels.h"
#include "ops/primitives/cpu/sort.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

template <typename F>
void VisitSortable(DType dtype, F f) {
  VisitDType(dtype, [&]<typename T>(TypeTag<T> tag) {
    if constexpr (kSortable<T>) {
      f(tag);
    } else {
      FailArgument("sort: complex numbers have no order");
    }
  });
}

// Writes the element `index` of a line of x and the index itself to place k of
// the line of the results, which have m elements along the axis.
template <typename T>
struct Writer {
  const Lines& lines;
  const T* x;
  int64_t m;
  T* out;  // may be null
  int64_t* indices;

  void Write(int64_t line, int64_t k, int64_t index) const {
    const int64_t at = lines.Start(line, m) + k * lines.stride;
    indices[at] = index;
    if (out != nullptr) {
      out[at] = x[lines.Start(line, lines.n) + index * lines.stride];
    }
  }
};

// How many of n keys in order are below `key`, or not above it if `right`.
// Without branches: which half is taken is not to be predicted.
template <typename T, typename Key>
int64_t CountBelow(const T* keys, int64_t n, Key key, bool right) {
  const auto below = [&](const T& element) {
    const Key other = SortKey(element);
    return (other < key) | (right & (other == key));
  };
  const T* at = keys;
  for (; n > 1; n -= n / 2) at += below(at[n / 2 - 1]) ? n / 2 : 0;
  return at - keys + (n == 1 && below(*at));
}

void SortInto(const Tensor& x, int64_t axis, bool descending, Tensor* out,
              Tensor* indices) {
  const Lines lines(x.shape(), NormalizeAxis("sort", axis, x.rank()));
  VisitSortable(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const Writer<T> writer{lines, x.data<T>(), lines.n,
                           out == nullptr ? nullptr : out->data<T>(),
                           indices->data<int64_t>()};
    SortLines(x.data<T>(), lines, descending,
              [&](int64_t line, const auto& items) {
                for (int64_t k = 0; k < lines.n; ++k)
                  writer.Write(line, k, items[k].index);
              });
  });
}

}  // namespace

void Sort(const KernelContext&, const Tensor& x, int64_t axis, bool descending,
          Tensor* out, Tensor* indices) {
  SortInto(x, axis, descending, out, indices);
}

void Argsort(const KernelContext&, const Tensor& x, int64_t axis,
             bool descending, Tensor* out) {
  SortInto(x, axis, descending, nullptr, out);
}

void TopK(const KernelContext&, const Tensor& x, int64_t k, int64_t axis,
          bool largest, bool, Tensor* out, Tensor* indices) {
  const Lines lines(x.shape(), NormalizeAxis("topk", axis, x.rank()));
  VisitSortable(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const Writer<T> writer{lines, x.data<T>(), k, out->data<T>(),
                           indices->data<int64_t>()};
    SelectLines(x.data<T>(), lines, k, largest,
                [&](int64_t line, const auto& items) {
                  for (int64_t i = 0; i < k; ++i)
                    writer.Write(line, i, items[i].index);
                });
  });
}

void KthValue(const KernelContext&, const Tensor& x, int64_t k, int64_t axis,
              bool, Tensor* out, Tensor* indices) {
  const Lines lines(x.shape(), NormalizeAxis("kthvalue", axis, x.rank()));
  VisitSortable(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const Writer<T> writer{lines, x.data<T>(), 1, out->data<T>(),
                           indices->data<int64_t>()};
    SelectLines(x.data<T>(), lines, k, false,
                [&](int64_t line, const auto& items) {
                  writer.Write(line, 0, items.back().index);
                });
  });
}

void Mode(const KernelContext&, const Tensor& x, int64_t axis, bool,
          Tensor* out, Tensor* indices) {
  const Lines lines(x.shape(), NormalizeAxis("mode", axis, x.rank()));
  VisitSortable(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const Writer<T> writer{lines, x.data<T>(), 1, out->data<T>(),
                           indices->data<int64_t>()};
    SortLines(x.data<T>(), lines, false, [&](int64_t line, const auto& items) {
      int64_t best = 0, index = 0;
      for (int64_t begin = 0, i = 1; i <= lines.n; ++i) {
        if (i < lines.n && items[i].key == items[begin].key) continue;
        if (i - begin > best) {
          best = i - begin;
          index = items[i - 1].index;
        }
        begin = i;
      }
      writer.Write(line, 0, index);
    });
  });
}

void SearchSorted(const KernelContext&, const Tensor& sorted_sequence,
                  const Tensor& values, bool out_int32, bool right,
                  Tensor* out) {
  if (values.numel() == 0) return;
  const int64_t n = sorted_sequence.size(sorted_sequence.rank() - 1);
  const int64_t per_row = values.rank() == 0 || sorted_sequence.rank() == 1
                              ? values.numel()
                              : values.size(values.rank() - 1);
  if (out_int32) {
    PROA_REQUIRE(n <= std::numeric_limits<int32_t>::max(), "searchsorted: ", n,
                 " positions do not fit in int32");
  }
  const bool one = sorted_sequence.rank() == 1;
  VisitSortable(values.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* keys = sorted_sequence.data<T>();
    const T* v = values.data<T>();
    parallel_for(0, values.numel(), 1024, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const T* row = one || n == 0 ? keys : keys + i / per_row * n;
        const int64_t at = CountBelow(row, n, SortKey(v[i]), right);
        if (out_int32) {
          out->data<int32_t>()[i] = static_cast<int32_t>(at);
        } else {
          out->data<int64_t>()[i] = at;
        }
      }
    });
  });
}

}  // namespace proa::inline v0::ops::cpu
