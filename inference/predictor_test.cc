#include "inference/predictor.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program_file.h"
#include "jit/recorder.h"
#include "ops/definition.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/value.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::inference {
namespace {

// relu(x @ w + 1) with w = [[1, -1], [2, 0.5]], saved under the test's own
// folder.
std::string SavedModel() {
  auto program = std::make_shared<jit::Program>();
  const Tensor x =
      jit::AddInput(program, "x", {kUnknownDim, 2}, DType::kFloat32);
  Tensor w = Tensor::Empty({2, 2}, DType::kFloat32);
  const float values[] = {1, -1, 2, 0.5};
  std::copy_n(values, 4, w.data<float>());
  const Tensor y = ops::relu(ops::add(ops::matmul(x, w), Tensor::Scalar(1.f)));
  jit::Module module;
  module.program = program;
  module.inputs = {jit::SymbolOf(x).id()};
  module.outputs = {jit::SymbolOf(y).id()};
  module.output_names = {"y"};
  const std::string prefix = std::string(std::getenv("TEST_TMPDIR")) + "/model";
  EXPECT_TRUE(jit::SaveModule(module, prefix).ok());
  return prefix;
}

std::vector<float> RunOn(Predictor& p, const std::vector<float>& x) {
  TensorHandle* in = p.GetInputHandle("x");
  in->Reshape({static_cast<int64_t>(x.size()) / 2, 2});
  in->CopyFromCpu(x.data());
  p.Run();
  TensorHandle* out = p.GetOutputHandle("y");
  std::vector<float> y(static_cast<size_t>(out->numel()));
  out->CopyToCpu(y.data());
  return y;
}

TEST(Predictor, RunsAnyBatchSize) {
  const auto p = CreatePredictor(Config(SavedModel() + ".pdmodel"));
  EXPECT_EQ(p->GetInputNames(), std::vector<std::string>{"x"});
  EXPECT_EQ(p->GetInputHandle("x")->shape(), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(RunOn(*p, {1, 1}), (std::vector<float>{4, 0.5}));
  EXPECT_EQ(RunOn(*p, {1, 1, 0, -1}), (std::vector<float>{4, 0.5, 0, 0.5}));
  EXPECT_EQ(RunOn(*p, {}), std::vector<float>{});
}

TEST(Predictor, RunsOperatorsOfAnExtension) {
  EXPECT_THROW(LoadExtension("nowhere.so"), Error);
  LoadExtension("ops/extension/testing/negate_v1.so");
  LoadExtension("ops/extension/testing/negate_v1.so");  // again is nothing
  auto program = std::make_shared<jit::Program>();
  const Tensor x =
      jit::AddInput(program, "x", {kUnknownDim, 2}, DType::kFloat32);
  Value y;
  const std::vector<Value> args = {Value(x)};
  FindOp("v1_negate")->call(args, {&y, 1});
  jit::Module module;
  module.program = program;
  module.inputs = {jit::SymbolOf(x).id()};
  module.outputs = {jit::SymbolOf(std::get<Tensor>(y)).id()};
  module.output_names = {"y"};
  const std::string prefix = std::string(std::getenv("TEST_TMPDIR")) + "/own";
  ASSERT_TRUE(jit::SaveModule(module, prefix).ok());
  const auto p = CreatePredictor(Config(prefix));
  EXPECT_EQ(RunOn(*p, {1, -2}), (std::vector<float>{-1, 2}));
}

TEST(Predictor, ClonesWorkInOtherThreads) {
  const auto p = CreatePredictor(Config(SavedModel()));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i, clone = std::shared_ptr(p->Clone())] {
      for (int k = 0; k < 200; ++k) {
        const float v = static_cast<float>(i * 200 + k);
        wrong[i] += RunOn(*clone, {v, 0})[0] != v + 1;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Predictor, ThreadsAreOfTheRunAlone) {
  SetNumThreads(3);
  Config config(SavedModel());
  config.SetCpuMathLibraryNumThreads(1);
  const auto p = CreatePredictor(config);
  EXPECT_EQ(RunOn(*p, {1, 1}), (std::vector<float>{4, 0.5}));
  EXPECT_EQ(GetNumThreads(), 3);
}

TEST(Predictor, MisuseIsNamed) {
  const auto p = CreatePredictor(Config(SavedModel()));
  EXPECT_THROW(p->Run(), Error);
  EXPECT_THROW(p->GetInputHandle("z"), Error);
  EXPECT_THROW(p->GetInputHandle("x")->Reshape({2, 3}), Error);
  EXPECT_THROW(p->GetInputHandle("x")->Reshape({-1, 2}), Error);
  p->GetInputHandle("x")->Reshape({1, 2});
  const double wide[2] = {};
  EXPECT_THROW(p->GetInputHandle("x")->CopyFromCpu(wide), TypeError);
  const float* none = nullptr;
  EXPECT_THROW(p->GetInputHandle("x")->CopyFromCpu(none), Error);
  EXPECT_THROW(CreatePredictor(Config()), Error);
  EXPECT_THROW(CreatePredictor(Config("/nowhere/model")), Error);
}

// Each byte of the program in turn: an error, never a crash (run under asan
// too).
TEST(Predictor, DamagedProgramsAreRefused) {
  const std::string prefix = SavedModel();
  std::ifstream in(prefix + ".pdmodel", std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  for (size_t i = 24; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x15);
    std::ofstream(prefix + ".pdmodel", std::ios::binary) << bad;
    EXPECT_THROW(CreatePredictor(Config(prefix)), Error) << "byte " << i;
  }
}

}  // namespace
}  // namespace proa::inline v0::inference
