// A program that vendors ops/ (with tensor/ and profiler/ below it): tensor
// functions from C++.
#include <cstdio>

#include "ops/elementwise/elementwise_ops.h"
#include "ops/linalg/linalg_ops.h"
#include "tensor/tensor.h"

int main() {
  using proa::Tensor;
  const Tensor x = Tensor::Empty({2, 2}, proa::DType::kFloat32);
  for (int i = 0; i < 4; ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor y =
      proa::ops::add(proa::ops::matmul(x, x), Tensor::Scalar(0.5f));
  for (int i = 0; i < 4; ++i) std::printf("%g ", y.data<float>()[i]);
}
