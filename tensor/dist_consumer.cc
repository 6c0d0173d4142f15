// A program that vendors tensor/ alone.
#include <cstdio>

#include "tensor/print.h"
#include "tensor/tensor.h"

int main() {
  using namespace proa;
  const Tensor t = Tensor::Empty({3}, DType::kFloat32);
  for (int i = 0; i < 3; ++i) t.data<float>()[i] = i;
  const Tensor rows = t.AsStrided({2, 3}, {0, 1}, 0);
  std::printf("%s %s\n", Describe(rows).c_str(), FormatElements(t, {}).c_str());
}
