#include "inference/paddle_inference_api.h"

#include <numeric>
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

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(PaddleInfer, OldNamesWork) {
  paddle::AnalysisConfig config(proa::inference::SavedModel());
  const auto predictor = paddle::CreatePaddlePredictor(config);
  EXPECT_EQ(predictor->GetInputNames(), std::vector<std::string>{"x"});
}
#pragma GCC diagnostic pop
