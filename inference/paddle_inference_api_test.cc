#include "inference/paddle_inference_api.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "inference/model_for_test.h"

// A program as they are written for PaddlePaddle's library.
TEST(PaddleInfer, AProgramOfItCompilesAndRuns) {
  const std::string prefix = proa::inference::SavedModel();
  paddle_infer::Config config;
  config.SetModel(prefix + ".pdmodel", prefix + ".pdiparams");
  config.EnableUseGpu(100, 0);
  config.DisableGpu();
  config.EnableMKLDNN();
  config.SwitchIrOptim(true);
  config.EnableMemoryOptim();
  config.DisableGlogInfo();
  config.SetCpuMathLibraryNumThreads(2);
  config.pass_builder()->DeletePass("conv_elementwise_add_act_fuse_pass");
  std::shared_ptr<paddle_infer::Predictor> predictor =
      paddle_infer::CreatePredictor(config);
  auto input_names = predictor->GetInputNames();
  std::unique_ptr<paddle_infer::Tensor> input =
      predictor->GetInputHandle(input_names[0]);
  std::vector<int> shape = {2, 2};
  std::vector<float> data = {1, 1, 0, -1};
  input->Reshape(shape);
  input->CopyFromCpu(data.data());
  ASSERT_TRUE(predictor->Run());
  auto output = predictor->GetOutputHandle(predictor->GetOutputNames()[0]);
  const auto out_shape = output->shape();
  const int64_t count = std::accumulate(out_shape.begin(), out_shape.end(),
                                        int64_t{1}, std::multiplies<>());
  std::vector<float> result(static_cast<size_t>(count));
  output->CopyToCpu(result.data());
  EXPECT_EQ(result, (std::vector<float>{4, 0.5, 0, 0.5}));
  EXPECT_EQ(output->type(), paddle_infer::DataType::FLOAT32);
  EXPECT_EQ(paddle_infer::GetNumBytesOfDataType(output->type()), 4);
  EXPECT_EQ(output->place(), paddle_infer::PlaceType::kCPU);
  paddle_infer::services::PredictorPool pool(config, 2);
  EXPECT_TRUE(pool.Retrive(1) != nullptr);
}

TEST(PaddleInfer, WhatElseProgramsSay) {
  const std::string prefix = proa::inference::SavedModel();
  paddle_infer::Config config(prefix + ".pdmodel", prefix + ".pdiparams");
  config.DisableGlogInfo();
  paddle_infer::experimental::InternalUtils::UpdateConfigInterleaved(&config,
                                                                     true);
  EXPECT_NE(config.Summary().find("EnableTensorRtInterleaved"),
            std::string::npos);
  const std::string passes = config.pass_builder()->DebugString();
  EXPECT_EQ(passes.find("Passes to apply:\n  - identities\n"), 0u) << passes;
  EXPECT_EQ(config.pass_builder()->GetAllPasses(),
            config.pass_builder()->AllPasses());
  const auto predictor = paddle_infer::CreatePredictor(config);
  const std::vector<float> data = {1, 1, 0, -1};
  predictor->GetInputHandle("x")->ShareExternalData(
      data.data(), {2, 2}, paddle_infer::PlaceType::kCPU,
      paddle_infer::DataLayout::kNCHW);
  ASSERT_TRUE(predictor->Run());
  std::vector<float> result(4);
  predictor->GetOutputHandle(predictor->GetOutputNames()[0])
      ->CopyToCpu(result.data());
  EXPECT_EQ(result, (std::vector<float>{4, 0.5, 0, 0.5}));
  const auto cipher = paddle::MakeCipher("");
  const std::string key = paddle::CipherUtils::GenKey(256);
  EXPECT_EQ(cipher->Decrypt(cipher->Encrypt("model", key), key), "model");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
// By handles.
TEST(PaddleInfer, ProgramsOf1xRun) {
  paddle::AnalysisConfig config(proa::inference::SavedModel());
  config.SwitchUseFeedFetchOps(false);
  const std::unique_ptr<paddle::PaddlePredictor> predictor =
      paddle::CreatePaddlePredictor(config);
  EXPECT_EQ(predictor->GetInputNames(), std::vector<std::string>{"x"});
  EXPECT_EQ(predictor->GetInputTensorShape().size(), 1u);
  const std::vector<float> data = {1, 1, 0, -1};
  for (const bool cloned : {false, true}) {
    const auto other = predictor->Clone();
    paddle::PaddlePredictor* p = cloned ? other.get() : predictor.get();
    const auto input = p->GetInputTensor("x");
    input->Reshape({2, 2});
    input->copy_from_cpu(data.data());
    ASSERT_TRUE(p->ZeroCopyRun());
    const auto output = p->GetOutputTensor(p->GetOutputNames()[0]);
    EXPECT_EQ(output->shape(), (std::vector<int>{2, 2}));
    std::vector<float> result(4);
    output->copy_to_cpu(result.data());
    EXPECT_EQ(result, (std::vector<float>{4, 0.5, 0, 0.5}));
  }
  predictor->ClearIntermediateTensor();
  predictor->TryShrinkMemory();
}

// By arrays.
TEST(PaddleInfer, ProgramsWithPaddleTensorsRun) {
  paddle::NativeConfig config;
  config.model_dir = proa::inference::SavedModel();
  const auto predictor =
      paddle::CreatePaddlePredictor<paddle::NativeConfig>(config);
  std::vector<float> data = {1, 1, 0, -1};
  paddle::PaddleTensor x;
  x.shape = {2, 2};
  x.data = paddle::PaddleBuf(data.data(), data.size() * sizeof(float));
  x.dtype = paddle::PaddleDType::FLOAT32;
  std::vector<paddle::PaddleTensor> outputs;
  ASSERT_TRUE(predictor->Run({x}, &outputs, 1));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].name, predictor->GetOutputNames()[0]);
  EXPECT_EQ(outputs[0].shape, (std::vector<int>{2, 2}));
  ASSERT_EQ(outputs[0].data.length(), 4 * sizeof(float));
  const auto* result = static_cast<const float*>(outputs[0].data.data());
  EXPECT_EQ(std::vector<float>(result, result + 4),
            (std::vector<float>{4, 0.5, 0, 0.5}));
  // Bytes that do not fit the shape, and a name that is none.
  x.shape = {3, 2};
  EXPECT_THROW(predictor->Run({x}, &outputs), std::runtime_error);
  x.shape = {2, 2};
  x.name = "y";
  EXPECT_THROW(predictor->Run({x}, &outputs), std::runtime_error);
}

TEST(PaddleInfer, BuffersOwnOrPoint) {
  paddle::PaddleBuf own(4);
  std::memcpy(own.data(), "abcd", 4);
  paddle::PaddleBuf copy = own;
  EXPECT_NE(copy.data(), own.data());
  EXPECT_EQ(std::memcmp(copy.data(), "abcd", 4), 0);
  char others[] = "xyz";
  copy.Reset(others, 3);
  const paddle::PaddleBuf same = copy;
  EXPECT_EQ(same.data(), others);
  EXPECT_EQ(same.length(), 3u);
  EXPECT_TRUE(paddle::PaddleBuf().empty());
}
#pragma GCC diagnostic pop
