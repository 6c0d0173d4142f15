#include "inference/predictor.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "inference/model_for_test.h"
#include "jit/program_file.h"
#include "jit/recorder.h"
#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::inference {
namespace {

std::vector<float> RunOn(Predictor& p, const std::vector<float>& x) {
  const auto in = p.GetInputHandle("x");
  in->Reshape({static_cast<int64_t>(x.size()) / 2, 2});
  in->CopyFromCpu(x.data());
  p.Run();
  const auto out = p.GetOutputHandle("y");
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

// Rows of sequences, scaled by how long theirs are: as models of 1.x are read.
TEST(Predictor, SequencesAreSaidByLoD) {
  auto program = std::make_shared<jit::Program>();
  const proa::Tensor x =
      jit::AddInput(program, "x", {kUnknownDim}, DType::kInt64);
  const proa::Tensor n =
      jit::AddInput(program, "x@LENGTHS0", {kUnknownDim}, DType::kInt64);
  Value sum;
  const std::vector<Value> args = {Value(x), Value(n)};
  FindOp("add")->call(args, {&sum, 1});
  jit::Module module;
  module.program = program;
  module.inputs = {jit::SymbolOf(x).id(), jit::SymbolOf(n).id()};
  module.outputs = {jit::SymbolOf(std::get<proa::Tensor>(sum)).id(),
                    jit::SymbolOf(n).id()};
  module.output_names = {"y", "fetch_0@LENGTHS0"};
  const std::string prefix = std::string(std::getenv("TEST_TMPDIR")) + "/lod";
  ASSERT_TRUE(jit::SaveModule(module, prefix).ok());
  const auto p = CreatePredictor(Config(prefix + ".pdmodel"));
  EXPECT_EQ(p->GetInputNames(), std::vector<std::string>{"x"});
  EXPECT_EQ(p->GetOutputNames(), std::vector<std::string>{"y"});
  const std::vector<int64_t> rows = {10, 20, 30};
  const auto in = p->GetInputHandle("x");
  in->Reshape({3});
  in->CopyFromCpu(rows.data());
  EXPECT_THROW(p->Run(), Error);
  const std::vector<std::vector<size_t>> lod = {{0, 2, 2, 3}};
  in->SetLoD(lod);
  p->Run();
  std::vector<int64_t> y(3);
  p->GetOutputHandle("y")->CopyToCpu(y.data());
  EXPECT_EQ(y, (std::vector<int64_t>{12, 20, 31}));
  EXPECT_EQ(p->GetOutputHandle("y")->lod(), lod);

  Tensor given("x");
  given.Reshape({3});
  given.CopyFromCpu(rows.data());
  given.SetLoD({{0, 1, 3, 3}});
  std::vector<Tensor> out;
  p->Run({given}, &out);
  ASSERT_EQ(out.size(), 1u);
  out[0].CopyToCpu(y.data());
  EXPECT_EQ(y, (std::vector<int64_t>{11, 22, 30}));
  EXPECT_EQ(out[0].lod(), given.lod());
  given.SetLoD({{0, 2, 1, 3}});
  EXPECT_THROW(p->Run({given}, &out), Error);
}

TEST(Predictor, RunsOperatorsOfAnExtension) {
  EXPECT_THROW(LoadExtension("nowhere.so"), Error);
  LoadExtension("ops/extension/testing/negate_v1.so");
  LoadExtension("ops/extension/testing/negate_v1.so");  // again is nothing
  auto program = std::make_shared<jit::Program>();
  const proa::Tensor x =
      jit::AddInput(program, "x", {kUnknownDim, 2}, DType::kFloat32);
  Value y;
  const std::vector<Value> args = {Value(x)};
  FindOp("v1_negate")->call(args, {&y, 1});
  jit::Module module;
  module.program = program;
  module.inputs = {jit::SymbolOf(x).id()};
  module.outputs = {jit::SymbolOf(std::get<proa::Tensor>(y)).id()};
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

// 257 is no bfloat16; its products are, where products compute in it.
TEST(Predictor, ComputesInBfloat16) {
  const auto run = [](const std::function<void(Config&)>& set) {
    Config config(SavedModel());
    set(config);
    return RunOn(*CreatePredictor(config), {257, 0})[0];
  };
  EXPECT_EQ(run([](Config&) {}), 258);
  EXPECT_EQ(run([](Config& c) {
              c.EnableMkldnnBfloat16();
              EXPECT_TRUE(c.mkldnn_bfloat16_enabled());
            }),
            257);
  // The product is not among them, is kept out, or is meant by another name.
  EXPECT_EQ(run([](Config& c) {
              c.EnableMkldnnBfloat16();
              c.SetBfloat16Op({"conv2d", "an op of others"});
            }),
            258);
  EXPECT_EQ(run([](Config& c) {
              c.EnableMkldnnBfloat16();
              c.Exp_DisableMixedPrecisionOps({"matmul_v2"});
            }),
            258);
  EXPECT_EQ(run([](Config& c) {
              c.EnableMkldnnBfloat16();
              c.SetBfloat16Op({"fc"});
            }),
            257);
  EXPECT_THROW(run([](Config& c) {
                 c.EnableMkldnnBfloat16();
                 c.Exp_EnableMixedPrecisionOps({"an op of others"});
               }),
               Error);
  Config config(SavedModel());
  config.EnableMkldnnBfloat16();
  config.EnableLowPrecisionIO();
  const auto p = CreatePredictor(config);
  EXPECT_EQ(p->GetInputTypes().at("x"), DataType::kBFloat16);
  EXPECT_EQ(p->GetOutputHandle("y")->type(), DataType::kBFloat16);
}

// The same as a call of Run(inputs, &outputs).
std::vector<float> CallOn(const Predictor& p, const std::vector<float>& x) {
  Tensor in("x");
  in.Reshape({static_cast<int64_t>(x.size()) / 2, 2});
  in.CopyFromCpu(x.data());
  std::vector<Tensor> out;
  EXPECT_TRUE(p.Run({in}, &out));
  std::vector<float> y(static_cast<size_t>(out[0].numel()));
  out[0].CopyToCpu(y.data());
  return y;
}

TEST(Predictor, OneServesManyThreads) {
  const auto p = CreatePredictor(Config(SavedModel()));
  constexpr int kThreads = 16;
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads, 0);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 200; ++k) {
        // Another number of rows each time.
        std::vector<float> x(static_cast<size_t>(2 * (1 + k % 7)), 0);
        x[0] = static_cast<float>(i * 200 + k);
        const std::vector<float> y = CallOn(*p, x);
        wrong[i] += y.size() != x.size() || y[0] != x[0] + 1 ||
                    y[y.size() - 1] != (x.size() == 2 ? y[1] : 1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

// Handles are one set: whose numbers a run has is open, that they are whole
// ones is not.
TEST(Predictor, HandlesOfManyThreadsAreNoRace) {
  const auto p = CreatePredictor(Config(SavedModel()));
  RunOn(*p, {0, 0});
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto in = p->GetInputHandle("x");
      const auto out = p->GetOutputHandle("y");
      const float x[2] = {static_cast<float>(i), static_cast<float>(i)};
      for (int k = 0; k < 200; ++k) {
        in->CopyFromCpu(x);
        p->Run();
        float y[2];
        out->CopyToCpu(y);
        const float v = (y[0] - 1) / 3;
        const float expected = std::max(0.f, 1 - v / 2);
        wrong[i] += v < 0 || v > 7 || y[1] != expected;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST(Predictor, ArraysOfOnesOwn) {
  const auto p = CreatePredictor(Config(SavedModel()));
  std::vector<Tensor> out;
  EXPECT_EQ(CallOn(*p, {}), std::vector<float>{});
  EXPECT_THROW(p->Run({}, &out), Error);
  EXPECT_THROW(p->Run({Tensor("x")}, &out), Error);
  EXPECT_THROW(p->Run({Tensor("z")}, &out), Error);
  EXPECT_THROW(p->Run({Tensor()}, nullptr), Error);
  Tensor wide("x");
  wide.Reshape({1, 2});
  const double elements[2] = {1, 2};
  wide.CopyFromCpu(elements);
  EXPECT_THROW(p->Run({wide}, &out), TypeError);
  Tensor long_("x");
  long_.Reshape({1, 3});
  const float three[3] = {};
  long_.CopyFromCpu(three);
  EXPECT_THROW(p->Run({long_}, &out), Error);
  EXPECT_THROW(long_.CopyFromCpu(three, 8, DataType::kFloat32), Error);
}

TEST(Predictor, ExternalMemoryIsReadWhereItLies) {
  const auto p = CreatePredictor(Config(SavedModel()));
  const auto in = p->GetInputHandle("x");
  std::vector<float> x = {1, 1};
  in->ShareExternalData(x.data(), std::vector<int>{1, 2});
  p->Run();
  float y[2];
  p->GetOutputHandle("y")->CopyToCpu(y);
  EXPECT_EQ(y[0], 4);
  x[0] = 2;  // seen without another call
  p->Run();
  p->GetOutputHandle("y")->CopyToCpu(y);
  EXPECT_EQ(y[0], 5);
  const float other[2] = {7, 0};
  in->CopyFromCpu(other);  // not into the caller's memory
  EXPECT_EQ(x[0], 2);
  EXPECT_EQ(in->mutable_data<float>()[0], 7);
  EXPECT_THROW(in->ShareExternalData(x.data(), std::vector<int>{2}), Error);
  EXPECT_THROW(
      in->ShareExternalData(reinterpret_cast<const float*>(
                                reinterpret_cast<const char*>(x.data()) + 1),
                            std::vector<int>{1, 2}),
      Error);
}

TEST(Predictor, ElementsInPlace) {
  const auto p = CreatePredictor(Config(SavedModel()));
  const auto in = p->GetInputHandle("x");
  in->Reshape({1, 2});
  float* x = in->mutable_data<float>();
  for (int k = 0; k < 3; ++k) {
    x[0] = static_cast<float>(k);
    x[1] = 0;
    p->Run();
    PlaceType place;
    int size = 0;
    const auto out = p->GetOutputHandle("y");
    const float* y = out->data<float>(&place, &size);
    EXPECT_EQ(size, 2);
    EXPECT_EQ(y[0], static_cast<float>(k) + 1);
    EXPECT_EQ(in->mutable_data<float>(), x);
  }
  EXPECT_THROW(in->mutable_data<int>(), TypeError);
}

TEST(Predictor, HooksSeeWhatOperationsReadAndMake) {
  Config config(SavedModel());
  config.SwitchIrOptim(false);
  const auto p = CreatePredictor(config);
  std::vector<std::string> seen;
  const auto note = [&](const std::string& op, const std::string& name,
                        const Tensor& t) {
    EXPECT_EQ(name, t.name());
    seen.push_back(
        op + " " +
        std::to_string(t.data(t.type()) != nullptr ? t.numel() : -1));
  };
  p->RegisterInputHook(note);
  RunOn(*p, {1, 1});
  EXPECT_EQ(seen, (std::vector<std::string>{"matmul 2", "matmul 4", "add 2",
                                            "add 1", "relu 2"}));
  seen.clear();
  float last = 0;
  p->RegisterOutputHook(
      [&](const std::string& op, const std::string& name, const Tensor& t) {
        seen.push_back("made by " + op);
        if (op == "relu") {
          EXPECT_EQ(name, "y");
          float y[2];
          t.CopyToCpu(y);
          last = y[0];
        }
      });
  RunOn(*p, {1, 1});
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "matmul 2", "matmul 4", "made by matmul", "add 2",
                      "add 1", "made by add", "relu 2", "made by relu"}));
  EXPECT_EQ(last, 4);
  seen.clear();
  RunOn(*p->Clone(), {1, 1});
  EXPECT_TRUE(seen.empty());
  // What a hook throws, Run throws, and the predictor goes on.
  p->RegisterOutputHook(
      [](const std::string& op, const std::string&, const Tensor&) {
        if (op == "add") throw std::runtime_error("enough");
      });
  std::vector<Tensor> out;
  Tensor in("x");
  in.Reshape({1, 2});
  const float x[2] = {1, 1};
  in.CopyFromCpu(x);
  try {
    p->Run({in}, &out);
    ADD_FAILURE() << "the hook's error was lost";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "enough");
  }
  EXPECT_THROW(p->RegisterInputHook(nullptr), Error);
}

// A hook may run predictors itself; those have their own hooks.
TEST(Predictor, HooksMayRunPredictors) {
  const auto p = CreatePredictor(Config(SavedModel()));
  int calls = 0;
  p->RegisterOutputHook(
      [&](const std::string&, const std::string&, const Tensor&) {
        if (++calls == 1) {
          EXPECT_EQ(RunOn(*p->Clone(), {1, 1})[0], 4);
        }
      });
  EXPECT_EQ(RunOn(*p, {1, 1})[0], 4);
  EXPECT_EQ(calls, 4);  // matmul, add, relu, and the chain of the last two
}

TEST(Predictor, ShrinksAndGoesOn) {
  const auto p = CreatePredictor(Config(SavedModel()));
  const std::vector<float> x(200000, 1);
  const std::vector<float> y = RunOn(*p, x);
  const auto out = p->GetOutputHandle("y");
  const auto in = p->GetInputHandle("x");
  p->ClearIntermediateTensor();
  EXPECT_EQ(out->numel(), 200000);
  p->TryShrinkMemory();
  float none;
  EXPECT_THROW(out->CopyToCpu(&none), Error);
  EXPECT_EQ(RunOn(*p, x), y);
}

TEST(PredictorPool, SharesTheModel) {
  const PredictorPool pool(Config(SavedModel()), 3);
  EXPECT_NE(pool.Retrieve(0), pool.Retrieve(2));
  EXPECT_EQ(RunOn(*pool.Retrive(2), {1, 1}), (std::vector<float>{4, 0.5}));
  EXPECT_THROW(pool.Retrieve(3), Error);
  EXPECT_THROW(PredictorPool(Config(SavedModel()), 0), Error);
}

TEST(Predictor, OutlivedByItsHandles) {
  std::unique_ptr<Tensor> out;
  {
    const auto p = CreatePredictor(Config(SavedModel()));
    RunOn(*p, {1, 1});
    out = p->GetOutputHandle("y");
  }
  float y[2];
  out->CopyToCpu(y);
  EXPECT_EQ(y[0], 4);
}

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Config, ModelFromMemoryAndByTwoFiles) {
  const std::string prefix = SavedModel();
  const std::string program = Contents(prefix + ".pdmodel");
  const std::string weights = Contents(prefix + ".pdiparams");
  Config config;
  config.SetModelBuffer(program.data(), program.size(), weights.data(),
                        weights.size());
  EXPECT_EQ(RunOn(*CreatePredictor(config), {1, 1})[0], 4);
  config.SetModelBuffer(program.data(), program.size() - 1, weights.data(),
                        weights.size());
  EXPECT_THROW(CreatePredictor(config), Error);
  config.SetModelBuffer(program.data(), program.size(), nullptr, 0);
  EXPECT_THROW(CreatePredictor(config), Error);
  std::ofstream(prefix + "_p", std::ios::binary) << program;
  std::ofstream(prefix + "_w", std::ios::binary) << weights;
  EXPECT_EQ(
      RunOn(*CreatePredictor(Config(prefix + "_p", prefix + "_w")), {1, 1})[0],
      4);
}

TEST(Config, WeightsStayInTheFile) {
  Config config(SavedModel());
  config.EnableMemoryOptim();
  const auto p = CreatePredictor(config);
  SavedModel();  // saved over
  EXPECT_EQ(RunOn(*p, {1, 1}), (std::vector<float>{4, 0.5}));
}

TEST(Config, PassesAreListedDeletedInserted) {
  Config config(SavedModel());
  auto* passes = config.pass_builder();
  const size_t count = passes->size();
  EXPECT_GT(count, 2u);
  passes->DeletePass("dead_code");
  passes->DeletePass("conv_elementwise_add_act_fuse_pass");  // the reference's
  EXPECT_EQ(passes->size(), count - 1);
  passes->InsertPass(0, "dead_code");
  EXPECT_EQ(passes->AllPasses()[0], "dead_code");
  EXPECT_THROW(passes->AppendPass("fancy"), Error);
  EXPECT_THROW(passes->InsertPass(count + 1, "dead_code"), Error);
  config.SwitchIrDebug();
  config.SetOptimCacheDir(std::getenv("TEST_TMPDIR"));
  EXPECT_EQ(RunOn(*CreatePredictor(config), {1, 1})[0], 4);
  const std::string dump =
      Contents(std::string(std::getenv("TEST_TMPDIR")) + "/ir_00_loaded.txt");
  EXPECT_NE(dump.find("relu"), std::string::npos);
  config.SetOptimCacheDir("/nowhere");
  EXPECT_THROW(CreatePredictor(config), Error);
  config.SwitchIrOptim(false);
  EXPECT_NE(config.Summary().find("ir_optim            false"),
            std::string::npos);
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

// A program that does not look whether it failed is not to get the result of
// the elements of before.
TEST(Predictor, WhatIsRefusedLeavesNothing) {
  const auto p = CreatePredictor(Config(SavedModel()));
  const auto x = p->GetInputHandle("x");
  const float good[2] = {1, 1};
  const double wide[2] = {};
  const float* none = nullptr;
  const std::vector<std::function<void()>> refused = {
      [&] {
        x->Reshape({2, 3});
      },
      [&] { x->CopyFromCpu(wide); },
      [&] { x->CopyFromCpu(none); },
      [&] { x->CopyFromCpu(good, 4, DataType::FLOAT32); },
      [&] { x->mutable_data<double>(PlaceType::kCPU); },
      [&] {
        x->ShareExternalData(wide, {1, 2}, PlaceType::kCPU);
      },
  };
  for (const auto& write : refused) {
    x->Reshape({1, 2});
    x->CopyFromCpu(good);
    EXPECT_TRUE(p->Run());
    std::string why;
    try {
      write();
    } catch (const std::exception& e) {
      why = e.what();
    }
    ASSERT_NE(why, "");
    try {
      p->Run();
      ADD_FAILURE() << "ran after: " << why;
    } catch (const std::exception& e) {
      EXPECT_EQ(std::string(e.what()), "input 'x' is not set: " + why);
    }
  }
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
