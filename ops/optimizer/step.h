// StepWork: what one step has to do for all parameters of a list, cut into
// pieces for the threads. It hides the form of the gradients: a dense one is
// read element by element; a row-sparse one by the rows that it holds, or,
// where a gradient of zero changes something too (momentum, decay), by all rows
// with zeros between.
//
//   StepWork work("sgd_", params, {grads, grad_scale, rounded},
//   StepRows::kHeld); RunStep(work, [&]<typename T>(size_t i, int64_t begin,
//   int64_t n, const T* g) {
//     T* p = params[i].data<T>() + begin;
//     for (int64_t j = 0; j < n; ++j) p[j] -= rate * g[j];
//   });
//
// RunStep (elements.h) also hides that gradients of float32 parameters may be
// of 16 bits, that they count times a factor, and that there may be 16-bit
// parameters to be written beside float32 ones: formulas know one type.
//
// Pieces are cut from all parameters together, so that many small ones and a
// few large ones keep the threads equally busy.
#ifndef PROA_OPS_OPTIMIZER_STEP_H_
#define PROA_OPS_OPTIMIZER_STEP_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::ops::optimizer {

// The rows of a parameter that a step changes when its gradient is row-sparse.
enum class StepRows { kHeld, kAll };

struct StepGradients {
  std::span<const Tensor> grads;
  double scale = 1.0;                    // what they count times
  std::span<const Tensor> rounded = {};  // 16-bit copies of the parameters
};

class StepWork {
 public:
  // Throws unless there is a gradient beside each of `params` (CheckGradients),
  // which are contiguous, and what is rounded is as CheckRounded says. Merges
  // the rows of row-sparse gradients. The lists must outlive this.
  StepWork(const char* op, std::span<const Tensor> params,
           const StepGradients& gradients, StepRows rows);

  // Elements to go through, of all parameters: the range that is cut into
  // pieces.
  int64_t total() const { return starts_.back(); }
  std::span<const Tensor> params() const { return params_; }
  DType gradient_dtype(size_t i) const { return grads_[i].dtype(); }
  double scale() const { return scale_; }
  std::span<const Tensor> rounded() const { return rounded_; }

  // Calls body(i, begin, n, gradients) for the parts [begin, begin + n) of
  // parameters that [first, last) of the work consists of; `gradients` points
  // to the first of n.
  template <typename F>
  void ForParts(int64_t first, int64_t last, F&& body) const;

 private:
  struct Rows {  // of a row-sparse gradient
    Tensor merged;
    std::span<const int64_t> rows;
    const char* values = nullptr;
    int64_t inner = 0;
  };

  template <typename F>
  void ForHeldRows(const Rows& r, int64_t first, int64_t last, size_t i,
                   F& body) const;
  template <typename F>
  void ForAllRows(const Rows& r, int64_t first, int64_t last, size_t i,
                  F& body) const;

  std::span<const Tensor> params_, grads_, rounded_;
  const double scale_;
  const StepRows mode_;
  std::vector<int64_t> starts_;  // of each parameter in the work, and the end
  std::vector<Rows> rows_;       // empty unless some gradient is row-sparse
  std::vector<char> zeros_;      // gradients of rows that are not held
  int64_t zero_count_ = 0;
};

template <typename F>
void StepWork::ForParts(int64_t first, int64_t last, F&& body) const {
  size_t i = std::upper_bound(starts_.begin(), starts_.end(), first) -
             starts_.begin() - 1;
  for (; first < last; ++i) {
    const int64_t start = starts_[i];
    const int64_t end = std::min(last, starts_[i + 1]);
    if (first >= end) continue;
    if (rows_.empty() || rows_[i].inner == 0) {
      const int64_t item = ItemSize(grads_[i].dtype());
      body(i, first - start, end - first,
           grads_[i].data<char>() + (first - start) * item);
    } else if (mode_ == StepRows::kHeld) {
      ForHeldRows(rows_[i], first - start, end - start, i, body);
    } else {
      ForAllRows(rows_[i], first - start, end - start, i, body);
    }
    first = end;
  }
}

// The work is [held rows * inner].
template <typename F>
void StepWork::ForHeldRows(const Rows& r, int64_t first, int64_t last, size_t i,
                           F& body) const {
  const int64_t item = ItemSize(grads_[i].dtype());
  while (first < last) {
    const int64_t k = first / r.inner, offset = first % r.inner;
    const int64_t n = std::min(last - first, r.inner - offset);
    body(i, r.rows[k] * r.inner + offset, n, r.values + first * item);
    first += n;
  }
}

// The work is all elements of the parameter.
template <typename F>
void StepWork::ForAllRows(const Rows& r, int64_t first, int64_t last, size_t i,
                          F& body) const {
  const int64_t item = ItemSize(grads_[i].dtype());
  size_t k = std::lower_bound(r.rows.begin(), r.rows.end(), first / r.inner) -
             r.rows.begin();
  while (first < last) {
    const int64_t held =
        k < r.rows.size() ? r.rows[k] * r.inner : params_[i].numel();
    if (first < held) {
      const int64_t n = std::min({last, held, first + zero_count_}) - first;
      body(i, first, n, zeros_.data());
      first += n;
      continue;
    }
    const int64_t offset = first - held;
    const int64_t n = std::min(last - first, r.inner - offset);
    body(i, first, n, r.values + (k * r.inner + offset) * item);
    first += n;
    ++k;
  }
}

}  // namespace proa::inline v0::ops::optimizer

#endif  // PROA_OPS_OPTIMIZER_STEP_H_
