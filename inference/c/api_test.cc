#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "inference/c/pd_inference_api.h"
#include "inference/model_for_test.h"

namespace {

PD_Predictor* Make() {
  PD_Config* config = PD_ConfigCreate();
  PD_ConfigSetModel(config, proa::inference::SavedModel().c_str(), nullptr);
  return PD_PredictorCreate(config);
}

TEST(CApi, AProgramOfPaddlePaddle) {
  const std::string prefix = proa::inference::SavedModel();
  PD_Config* config = PD_ConfigCreate();
  PD_ConfigSetModel(config, (prefix + ".pdmodel").c_str(),
                    (prefix + ".pdiparams").c_str());
  PD_ConfigSetCpuMathLibraryNumThreads(config, 1);
  PD_ConfigSwitchIrOptim(config, true);
  PD_ConfigEnableUseGpu(config, 100, 0);
  PD_ConfigEnableNpu(config, 0);
  PD_ConfigEnableTensorRtOSS(config);
  EXPECT_FALSE(PD_ConfigUseGpu(config) || PD_ConfigUseNpu(config));
  EXPECT_FALSE(PD_ConfigTensorRtOssEnabled(config));
  EXPECT_FALSE(PD_ConfigMkldnnBfloat16Enabled(config));
  const char* low[] = {"conv2d", nullptr};
  PD_ConfigSetBfloat16Op(config, 1, low);
  PD_ConfigEnableMkldnnBfloat16(config);
  EXPECT_TRUE(PD_ConfigMkldnnBfloat16Enabled(config));
  PD_ConfigSetBfloat16Op(config, 2, low);
  EXPECT_NE(std::string(PD_LastErrorMessage()).find("op_list"),
            std::string::npos);
  PD_Cstr* summary = PD_ConfigSummary(config);
  EXPECT_EQ(summary->size, std::strlen(summary->data) + 1);
  PD_CstrDestroy(summary);
  PD_Predictor* predictor = PD_PredictorCreate(config);
  ASSERT_NE(predictor, nullptr) << PD_LastErrorMessage();
  PD_OneDimArrayCstr* inputs = PD_PredictorGetInputNames(predictor);
  ASSERT_EQ(inputs->size, 1u);
  PD_Tensor* in = PD_PredictorGetInputHandle(predictor, inputs->data[0]);
  int32_t shape[2] = {1, 2};
  PD_TensorReshape(in, 2, shape);
  const float x[2] = {1, 1};
  PD_TensorCopyFromCpuFloat(in, x);
  EXPECT_TRUE(PD_PredictorRun(predictor)) << PD_LastErrorMessage();
  PD_OneDimArrayCstr* outputs = PD_PredictorGetOutputNames(predictor);
  PD_Tensor* out = PD_PredictorGetOutputHandle(predictor, outputs->data[0]);
  PD_OneDimArrayInt32* out_shape = PD_TensorGetShape(out);
  ASSERT_EQ(out_shape->size, 2u);
  EXPECT_EQ(out_shape->data[1], 2);
  float y[2];
  PD_TensorCopyToCpuFloat(out, y);
  EXPECT_EQ(y[0], 4);
  EXPECT_EQ(PD_TensorGetDataType(out), PD_DATA_FLOAT32);
  EXPECT_STREQ(PD_TensorGetName(out), "y");
  PD_PlaceType place = PD_PLACE_UNK;
  int32_t size = 0;
  EXPECT_EQ(PD_TensorDataFloat(out, &place, &size)[1], 0.5);
  EXPECT_EQ(place, PD_PLACE_CPU);
  EXPECT_EQ(size, 2);
  size_t ends[2] = {0, 1};
  PD_OneDimArraySize level = {2, ends};
  PD_OneDimArraySize* levels[1] = {&level};
  PD_TwoDimArraySize lod = {1, levels};
  PD_TensorSetLod(in, &lod);
  PD_TwoDimArraySize* back = PD_TensorGetLod(in);
  EXPECT_EQ(back->data[0]->data[1], 1u);
  PD_TwoDimArraySizeDestroy(back);
  PD_PredictorClearIntermediateTensor(predictor);
  PD_PredictorTryShrinkMemory(predictor);
  PD_OneDimArrayInt32Destroy(out_shape);
  PD_OneDimArrayCstrDestroy(inputs);
  PD_OneDimArrayCstrDestroy(outputs);
  PD_TensorDestroy(in);
  PD_TensorDestroy(out);
  PD_PredictorDestroy(predictor);
}

TEST(CApi, ErrorsAreStatusAndMessage) {
  PD_ClearError();
  EXPECT_EQ(PD_LastStatus(), PD_OK);
  PD_Config* config = PD_ConfigCreate();
  PD_ConfigSetModel(config, "/nowhere/model", nullptr);
  EXPECT_EQ(PD_PredictorCreate(config), nullptr);
  EXPECT_EQ(PD_LastStatus(), PD_NOT_FOUND) << PD_LastErrorMessage();
  EXPECT_NE(std::strstr(PD_LastErrorMessage(), "/nowhere/model"), nullptr);
  std::thread([] { EXPECT_EQ(PD_LastStatus(), PD_OK); }).join();
  EXPECT_EQ(PD_PredictorCreate(nullptr), nullptr);
  EXPECT_EQ(PD_LastStatus(), PD_INVALID_ARGUMENT);
  PD_ConfigSetModel(nullptr, "x", nullptr);
  EXPECT_STREQ(PD_LastErrorMessage(), "PD_Config is NULL");
  PD_Predictor* p = Make();
  PD_ClearError();
  EXPECT_EQ(PD_PredictorGetInputHandle(p, "z"), nullptr);
  EXPECT_NE(std::strstr(PD_LastErrorMessage(), "no input is named 'z'"),
            nullptr);
  EXPECT_EQ(PD_PredictorGetInputHandle(p, nullptr), nullptr);
  EXPECT_FALSE(PD_PredictorRun(p));
  EXPECT_NE(std::strstr(PD_LastErrorMessage(), "not set"), nullptr);
  PD_Tensor* in = PD_PredictorGetInputHandle(p, "x");
  PD_ClearError();
  int32_t shape[2] = {1, 3};
  PD_TensorReshape(in, 2, shape);
  EXPECT_EQ(PD_LastStatus(), PD_INVALID_ARGUMENT);
  PD_ClearError();
  const int64_t wide[2] = {};
  PD_TensorCopyFromCpuInt64(in, wide);
  EXPECT_EQ(PD_LastStatus(), PD_INVALID_ARGUMENT);
  EXPECT_FALSE(PD_PredictorRun(p));
  EXPECT_NE(std::strstr(PD_LastErrorMessage(), "not int64"), nullptr)
      << PD_LastErrorMessage();
  EXPECT_EQ(PD_TensorMutableDataFloat(in, PD_PLACE_GPU), nullptr);
  PD_TensorDestroy(in);
  PD_PredictorDestroy(p);
  PD_TensorDestroy(nullptr);
  PD_PredictorDestroy(nullptr);
  PD_ResultsDestroy(nullptr);
  PD_CstrDestroy(nullptr);
}

PD_Array ArrayOf(const float* data, const int64_t* shape) {
  PD_Array a;
  std::memset(&a, 0, sizeof(a));
  a.struct_size = sizeof(a);
  a.name = "x";
  a.type = PD_DATA_FLOAT32;
  a.rank = 2;
  a.shape = shape;
  a.data = data;
  a.bytes = static_cast<size_t>(shape[0] * shape[1]) * sizeof(float);
  return a;
}

TEST(CApi, ArraysFromManyThreads) {
  PD_Predictor* p = Make();
  std::vector<std::thread> threads;
  std::vector<int> wrong(16, 0);
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        const float x[2] = {static_cast<float>(i), 0};
        const int64_t shape[2] = {1, 2};
        const PD_Array in = ArrayOf(x, shape);
        PD_Results* results = nullptr;
        if (PD_PredictorRunArrays(p, &in, 1, &results) != PD_OK) ++wrong[i];
        PD_Array out;
        out.struct_size = sizeof(out);
        if (PD_ResultsSize(results) != 1 ||
            PD_ResultsGet(results, 0, &out) != PD_OK || out.rank != 2 ||
            static_cast<const float*>(out.data)[0] !=
                static_cast<float>(i) + 1) {
          ++wrong[i];
        }
        PD_ResultsDestroy(results);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(16, 0));
  PD_PredictorDestroy(p);
}

TEST(CApi, ArraysOfOtherHeaders) {
  PD_Predictor* p = Make();
  const float x[2] = {1, 1};
  const int64_t shape[2] = {1, 2};
  struct Later {
    PD_Array array;
    int64_t more[3];
  } later = {ArrayOf(x, shape), {}};
  later.array.struct_size = sizeof(later);
  PD_Results* results = nullptr;
  EXPECT_EQ(PD_PredictorRunArrays(p, &later.array, 1, &results), PD_OK);
  PD_Array out;
  out.struct_size = sizeof(out);
  EXPECT_EQ(PD_ResultsGet(results, 1, &out), PD_INVALID_ARGUMENT);
  out.struct_size = 8;
  EXPECT_EQ(PD_ResultsGet(results, 0, &out), PD_INVALID_ARGUMENT);
  PD_ResultsDestroy(results);
  PD_Array bad = ArrayOf(x, shape);
  bad.struct_size = 0;
  EXPECT_EQ(PD_PredictorRunArrays(p, &bad, 1, &results), PD_INVALID_ARGUMENT);
  EXPECT_EQ(results, nullptr);
  bad = ArrayOf(x, shape);
  bad.bytes = 4;
  EXPECT_EQ(PD_PredictorRunArrays(p, &bad, 1, &results), PD_INVALID_ARGUMENT);
  bad.type = static_cast<PD_DataType>(77);
  EXPECT_EQ(PD_PredictorRunArrays(p, &bad, 1, &results), PD_INVALID_ARGUMENT);
  EXPECT_EQ(PD_PredictorRunArrays(p, nullptr, 1, &results),
            PD_INVALID_ARGUMENT);
  EXPECT_EQ(PD_PredictorRunArrays(p, &bad, 1, nullptr), PD_INVALID_ARGUMENT);
  PD_PredictorDestroy(p);
}

// ONNX Runtime: asked for and not there is an error that says what is missing.
TEST(CApi, OnnxRuntime) {
  PD_Config* config = PD_ConfigCreate();
  PD_ConfigSetModel(config, "net.onnx", nullptr);
  EXPECT_FALSE(PD_ConfigONNXRuntimeEnabled(config));
  PD_ConfigSetONNXRuntimeLibrary(config, "/nowhere/lib.so");
  EXPECT_FALSE(PD_ConfigONNXRuntimeEnabled(config));
  PD_ConfigEnableONNXRuntime(config);
  EXPECT_TRUE(PD_ConfigONNXRuntimeEnabled(config));
  PD_ConfigDisableONNXRuntime(config);
  EXPECT_FALSE(PD_ConfigONNXRuntimeEnabled(config));
  PD_ConfigEnableONNXRuntime(config);
  PD_ConfigEnableORTOptimization(config);
  EXPECT_EQ(PD_PredictorCreate(config), nullptr);
  EXPECT_EQ(PD_LastStatus(), PD_UNSUPPORTED);
  EXPECT_NE(std::string(PD_LastErrorMessage()).find("/nowhere/lib.so"),
            std::string::npos);
  PD_ClearError();
  PD_ConfigEnableONNXRuntime(nullptr);
  EXPECT_NE(PD_LastStatus(), PD_OK);
}

std::string SummaryOf(PD_Config* config) {
  PD_Cstr* text = PD_ConfigSummary(config);
  const std::string out(text->data);
  PD_CstrDestroy(text);
  return out;
}

// Each setting without a part in the summary is listed there as one that
// changes nothing.
TEST(CApi, SettingsAreSeen) {
  const char* names[] = {"conv2d"};
  const std::pair<const char*, std::function<void(PD_Config*)>> cases[] = {
      {"EnableUseGpu", [](PD_Config* c) { PD_ConfigEnableUseGpu(c, 1, 0); }},
      {"EnableTensorRtEngine",
       [](PD_Config* c) {
         PD_ConfigEnableTensorRtEngine(c, 1, 1, 3, PD_PRECISION_FLOAT32, 0, 0);
       }},
      {"EnableProfile", PD_ConfigEnableProfile},
      {"SetMkldnnCacheCapacity",
       [](PD_Config* c) { PD_ConfigSetMkldnnCacheCapacity(c, 1); }},
      {"EnableCUDNN", PD_ConfigEnableCudnn},
      {"EnableGpuMultiStream", PD_ConfigEnableGpuMultiStream},
      {"EnableNpu", [](PD_Config* c) { PD_ConfigEnableNpu(c, 0); }},
      {"SetTRTDynamicShapeInfo",
       [](PD_Config* c) {
         PD_ConfigSetTrtDynamicShapeInfo(c, 0, nullptr, nullptr, nullptr,
                                         nullptr, nullptr, 0);
       }},
      {"EnableXpu",
       [](PD_Config* c) {
         PD_ConfigEnableXpu(c, 1, 0, 0, nullptr, "int16", 0);
       }},
      {"EnableTunedTensorRtDynamicShape",
       [](PD_Config* c) {
         PD_ConfigEnableTunedTensorRtDynamicShape(c, "shapes", 1);
       }},
      {"CollectShapeRangeInfo",
       [](PD_Config* c) { PD_ConfigCollectShapeRangeInfo(c, "shapes"); }},
      {"EnableVarseqlen", PD_ConfigEnableVarseqlen},
      {"EnableLiteEngine",
       [](PD_Config* c) {
         PD_ConfigEnableLiteEngine(c, PD_PRECISION_FLOAT32, 0, 0, nullptr, 0,
                                   nullptr);
       }},
      {"EnableTensorRtOSS", PD_ConfigEnableTensorRtOSS},
      {"EnableTensorRtDLA",
       [](PD_Config* c) { PD_ConfigEnableTensorRtDla(c, 0); }},
      {"SetMKLDNNOp", [&](PD_Config* c) { PD_ConfigSetMkldnnOp(c, 1, names); }},
      {"EnableMkldnnQuantizer", PD_ConfigEnableMkldnnQuantizer},
      {"PartiallyRelease", PD_ConfigPartiallyRelease},
      {"glog_info           false", PD_ConfigDisableGlogInfo},
      {"enable_bfloat16     true", PD_ConfigEnableMkldnnBfloat16},
      {"bfloat16_ops        conv2d",
       [&](PD_Config* c) { PD_ConfigSetBfloat16Op(c, 1, names); }},
      {"memory_optim        false",
       [](PD_Config* c) { PD_ConfigEnableMemoryOptim(c, 0); }},
      {"cpu_math_thread     3",
       [](PD_Config* c) { PD_ConfigSetCpuMathLibraryNumThreads(c, 3); }},
      {"ir_optim            false",
       [](PD_Config* c) { PD_ConfigSwitchIrOptim(c, 0); }},
      {"ir_debug            true",
       [](PD_Config* c) { PD_ConfigSwitchIrDebug(c, 1); }},
      {"optim_cache_dir     here",
       [](PD_Config* c) { PD_ConfigSetOptimCacheDir(c, "here"); }},
      {"engine              ONNX Runtime", PD_ConfigEnableONNXRuntime},
      {"model               folder",
       [](PD_Config* c) { PD_ConfigSetModelDir(c, "folder"); }},
  };
  for (const auto& [says, set] : cases) {
    PD_Config* config = PD_ConfigCreate();
    EXPECT_EQ(SummaryOf(config).find(says), std::string::npos) << says;
    set(config);
    EXPECT_NE(SummaryOf(config).find(says), std::string::npos) << says;
    EXPECT_FALSE(PD_ConfigUseGpu(config) || PD_ConfigUseNpu(config) ||
                 PD_ConfigUseXpu(config) || PD_ConfigCudnnEnabled(config) ||
                 PD_ConfigTensorRtEngineEnabled(config) ||
                 PD_ConfigProfileEnabled(config) ||
                 PD_ConfigTunedTensorRtDynamicShape(config) ||
                 PD_ConfigTrtAllowBuildAtRuntime(config) ||
                 PD_ConfigShapeRangeInfoCollected(config) ||
                 PD_ConfigLiteEngineEnabled(config));
    EXPECT_STREQ(PD_ConfigShapeRangeInfoPath(config), "");
    PD_ConfigDestroy(config);
    PD_ClearError();
    set(nullptr);
    EXPECT_NE(PD_LastStatus(), PD_OK) << says;
  }
}

}  // namespace
