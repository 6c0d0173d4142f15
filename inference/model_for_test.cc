#include "inference/model_for_test.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "jit/program_file.h"
#include "jit/recorder.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/linalg/matmul_ops.h"

namespace proa::inline v0::inference {

std::string SavedModel() {
  auto program = std::make_shared<jit::Program>();
  const proa::Tensor x =
      jit::AddInput(program, "x", {kUnknownDim, 2}, DType::kFloat32);
  proa::Tensor w = proa::Tensor::Empty({2, 2}, DType::kFloat32);
  const float values[] = {1, -1, 2, 0.5};
  std::copy_n(values, 4, w.data<float>());
  const proa::Tensor y =
      ops::relu(ops::add(ops::matmul(x, w), proa::Tensor::Scalar(1.f)));
  jit::Module module;
  module.program = program;
  module.inputs = {jit::SymbolOf(x).id()};
  module.outputs = {jit::SymbolOf(y).id()};
  module.output_names = {"y"};
  const std::string prefix = std::string(std::getenv("TEST_TMPDIR")) + "/model";
  if (!jit::SaveModule(module, prefix).ok()) std::abort();
  return prefix;
}

}  // namespace proa::inline v0::inference
