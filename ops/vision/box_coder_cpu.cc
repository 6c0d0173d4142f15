// The kernel of box codes.
#include <cmath>
#include <cstdint>

#include "ops/vision/box_coder_kernels.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kGrain = 1024;  // boxes

template <typename T>
void Encode(const T* box, const T* by, const T* variance, T more, T* code) {
  for (int k = 0; k < 2; ++k) {
    const T size = by[k + 2] - by[k] + more;
    const T middle = by[k] + size / 2;
    code[k] = ((box[k] + box[k + 2]) / 2 - middle) / size / variance[k];
    code[k + 2] = std::log(std::fabs((box[k + 2] - box[k] + more) / size)) /
                  variance[k + 2];
  }
}

template <typename T>
void Decode(const T* code, const T* by, const T* variance, T more, T* box) {
  for (int k = 0; k < 2; ++k) {
    const T size = by[k + 2] - by[k] + more;
    const T middle = variance[k] * code[k] * size + (by[k] + size / 2);
    const T half = std::exp(variance[k + 2] * code[k + 2]) * size / 2;
    box[k] = middle - half;
    box[k + 2] = middle + half - more;
  }
}

}  // namespace

void BoxCoder(const KernelContext&, const Tensor& prior_box,
              const Tensor& prior_box_var, const Tensor& target_box,
              std::string_view code_type, bool box_normalized, int64_t axis,
              std::span<const double> variance, Tensor* out) {
  const bool encodes = code_type == "encode_center_size";
  const int64_t columns = out->size(1);
  const auto run = [&]<typename T>(T) {
    T same[4] = {1, 1, 1, 1};
    for (size_t k = 0; k < variance.size(); ++k) {
      same[k] = static_cast<T>(variance[k]);
    }
    const T more = box_normalized ? T(0) : T(1);
    const T* priors = prior_box.data<T>();
    const T* spread = prior_box_var.defined() ? prior_box_var.data<T>() : same;
    const int64_t spread_step = prior_box_var.defined() ? 4 : 0;
    const T* target = target_box.data<T>();
    T* to = out->data<T>();
    parallel_for(0, out->numel() / 4, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / columns, column = i % columns;
        const int64_t by = encodes || axis == 0 ? column : row;
        const T* of = spread + by * spread_step;
        if (encodes) {
          Encode(target + 4 * row, priors + 4 * by, of, more, to + 4 * i);
        } else {
          Decode(target + 4 * i, priors + 4 * by, of, more, to + 4 * i);
        }
      }
    });
  };
  if (out->dtype() == DType::kFloat64) {
    run(double{});
  } else {
    run(float{});
  }
}

}  // namespace proa::inline v0::ops::cpu
