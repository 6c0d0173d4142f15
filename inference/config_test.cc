// Every setting of Config: it does something that can be seen, or it says that
// it changes nothing. The lists of methods are read from the headers, so that a
// new one is not forgotten.
#include "inference/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "inference/model_for_test.h"
#include "inference/predictor.h"
#include "jit/program_file.h"
#include "jit/recorder.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Public methods of a class of a header: a declaration begins two columns in.
std::set<std::string> MethodsOf(const std::string& header,
                                const std::string& type) {
  const std::string text = Contents(header);
  const size_t begin = text.find("class " + type + " ");
  const size_t end = text.find(" private:", begin);
  EXPECT_NE(begin, std::string::npos) << header;
  const std::string body = text.substr(begin, end - begin);
  std::set<std::string> names;
  const std::regex declaration(R"(\n  [\w:][\w:<>&\* ]*[ \*&](\w+)\()");
  for (std::sregex_iterator it(body.begin(), body.end(), declaration), last;
       it != last; ++it) {
    names.insert((*it)[1]);
  }
  names.erase(type);
  return names;
}

// relu(x) + relu(x).
std::string TwiceTheSame() {
  auto program = std::make_shared<jit::Program>();
  const proa::Tensor x =
      jit::AddInput(program, "x", {kUnknownDim, 2}, DType::kFloat32);
  const proa::Tensor y = ops::add(ops::relu(x), ops::relu(x));
  jit::Module module;
  module.program = program;
  module.inputs = {jit::SymbolOf(x).id()};
  module.outputs = {jit::SymbolOf(y).id()};
  module.output_names = {"y"};
  const std::string prefix = std::string(std::getenv("TEST_TMPDIR")) + "/twice";
  EXPECT_TRUE(jit::SaveModule(module, prefix).ok());
  return prefix;
}

using Call = std::function<void(Config&)>;

// Settings that change nothing, in any of their forms.
const std::map<std::string, Call> kIgnored = {
    {"EnableUseGpu", [](Config& c) { c.EnableUseGpu(100, 1); }},
    {"EnableCUDNN", [](Config& c) { c.EnableCUDNN(); }},
    {"EnableGpuMultiStream", [](Config& c) { c.EnableGpuMultiStream(); }},
    {"SetExecStream", [](Config& c) { c.SetExecStream(&c); }},
    {"EnableXpu", [](Config& c) { c.EnableXpu(); }},
    {"SetXpuDeviceId", [](Config& c) { c.SetXpuDeviceId(1); }},
    {"EnableNpu", [](Config& c) { c.EnableNpu(1); }},
    {"EnableIpu", [](Config& c) { c.EnableIpu(2); }},
    {"SetIpuConfig", [](Config& c) { c.SetIpuConfig(true); }},
    {"LoadIpuConfig", [](Config& c) { c.LoadIpuConfig("file"); }},
    {"EnableCustomDevice", [](Config& c) { c.EnableCustomDevice("x", 0); }},
    {"EnableTensorRtEngine", [](Config& c) { c.EnableTensorRtEngine(); }},
    {"SetTRTDynamicShapeInfo",
     [](Config& c) {
       c.SetTRTDynamicShapeInfo({{"x", {1}}}, {{"x", {9}}}, {{"x", {4}}});
     }},
    {"EnableTunedTensorRtDynamicShape",
     [](Config& c) { c.EnableTunedTensorRtDynamicShape("file"); }},
    {"CollectShapeRangeInfo",
     [](Config& c) { c.CollectShapeRangeInfo("file"); }},
    {"EnableVarseqlen", [](Config& c) { c.EnableVarseqlen(); }},
    {"EnableTensorRtOSS", [](Config& c) { c.EnableTensorRtOSS(); }},
    {"EnableTensorRtDLA", [](Config& c) { c.EnableTensorRtDLA(1); }},
    {"EnableTensorRtInterleaved",
     [](Config& c) { c.EnableTensorRtInterleaved(); }},
    {"EnableTensorRtInspector", [](Config& c) { c.EnableTensorRtInspector(); }},
    {"EnableDlnne", [](Config& c) { c.EnableDlnne(); }},
    {"EnableLiteEngine", [](Config& c) { c.EnableLiteEngine(); }},
    {"DisableMKLDNN", [](Config& c) { c.DisableMKLDNN(); }},
    {"SetMKLDNNOp", [](Config& c) { c.SetMKLDNNOp({"conv2d"}); }},
    {"SetMkldnnCacheCapacity", [](Config& c) { c.SetMkldnnCacheCapacity(1); }},
    {"EnableMkldnnInt8", [](Config& c) { c.EnableMkldnnInt8(); }},
    {"EnableMkldnnQuantizer", [](Config& c) { c.EnableMkldnnQuantizer(); }},
    {"SetCalibrationFilePath",
     [](Config& c) { c.SetCalibrationFilePath("file"); }},
    {"SwitchUseFeedFetchOps", [](Config& c) { c.SwitchUseFeedFetchOps(true); }},
    {"SwitchSpecifyInputNames",
     [](Config& c) { c.SwitchSpecifyInputNames(false); }},
    {"EnableProfile", [](Config& c) { c.EnableProfile(); }},
    {"PartiallyRelease", [](Config& c) { c.PartiallyRelease(); }},
};

// What asks for what is so in any case.
const std::map<std::string, Call> kSo = {
    {"DisableGpu", [](Config& c) { c.DisableGpu(); }},
    {"Exp_DisableTensorRtOPs",
     [](Config& c) { c.Exp_DisableTensorRtOPs({"conv2d"}); }},
    {"DisableFCPadding", [](Config& c) { c.DisableFCPadding(); }},
    {"EnableMKLDNN", [](Config& c) { c.EnableMKLDNN(); }},
    {"SwitchUseFeedFetchOps",
     [](Config& c) { c.SwitchUseFeedFetchOps(false); }},
    {"SwitchSpecifyInputNames", [](Config& c) { c.SwitchSpecifyInputNames(); }},
};

#define PROA_SAYS(method, value)                              \
  {                                                           \
#method, [](Config & c) { return c.method() == (value); } \
  }
using Question = std::function<bool(Config&)>;
// Answers that no setting changes.
const std::map<std::string, Question> kAnswers = {
    PROA_SAYS(use_gpu, false),
    PROA_SAYS(gpu_device_id, 0),
    PROA_SAYS(memory_pool_init_size_mb, 0),
    PROA_SAYS(fraction_of_gpu_memory_for_pool, 0),
    PROA_SAYS(cudnn_enabled, false),
    PROA_SAYS(thread_local_stream_enabled, false),
    PROA_SAYS(GetExecStream, nullptr),
    PROA_SAYS(external_stream_enabled, false),
    PROA_SAYS(use_xpu, false),
    PROA_SAYS(xpu_device_id, 0),
    PROA_SAYS(use_npu, false),
    PROA_SAYS(npu_device_id, 0),
    PROA_SAYS(use_ipu, false),
    PROA_SAYS(ipu_device_num, 0),
    PROA_SAYS(use_custom_device, false),
    PROA_SAYS(custom_device_id, 0),
    PROA_SAYS(custom_device_type, ""),
    PROA_SAYS(tensorrt_engine_enabled, false),
    PROA_SAYS(tensorrt_precision_mode, PrecisionType::kFloat32),
    PROA_SAYS(tensorrt_dynamic_shape_enabled, false),
    PROA_SAYS(tuned_tensorrt_dynamic_shape, false),
    PROA_SAYS(trt_allow_build_at_runtime, false),
    PROA_SAYS(shape_range_info_path, ""),
    PROA_SAYS(shape_range_info_collected, false),
    PROA_SAYS(tensorrt_varseqlen_enabled, false),
    PROA_SAYS(tensorrt_oss_enabled, false),
    PROA_SAYS(tensorrt_dla_enabled, false),
    PROA_SAYS(tensorrt_inspector_enabled, false),
    PROA_SAYS(dlnne_enabled, false),
    PROA_SAYS(lite_engine_enabled, false),
    PROA_SAYS(use_fc_padding, false),
    PROA_SAYS(mkldnn_int8_enabled, false),
    PROA_SAYS(mkldnn_quantizer_enabled, false),
    PROA_SAYS(CalibrationFilePath, ""),
    PROA_SAYS(use_feed_fetch_ops_enabled, false),
    PROA_SAYS(specify_input_name, true),
    PROA_SAYS(profile_enabled, false),
    PROA_SAYS(mkldnn_enabled, true),
    PROA_SAYS(is_valid, true),
};
#undef PROA_SAYS

std::string Said(const Config& config) {
  testing::internal::CaptureStderr();
  CreatePredictor(config);
  return testing::internal::GetCapturedStderr();
}

TEST(Config, SaysWhatChangesNothing) {
  const std::string plain = Said(Config(SavedModel()));
  EXPECT_EQ(plain, "");
  for (const auto& [name, set] : kIgnored) {
    Config config(SavedModel());
    set(config);
    set(config);  // is said once
    ASSERT_EQ(config.ignored_settings().size(), 1u) << name;
    const std::string& line = config.ignored_settings()[0];
    EXPECT_TRUE(line.starts_with(name + " changes nothing: ")) << line;
    EXPECT_NE(config.Summary().find(line), std::string::npos) << name;
    EXPECT_EQ(Said(config), "proa: " + line + "\n");
    for (const auto& [method, is_so] : kAnswers) {
      EXPECT_TRUE(is_so(config)) << method << " after " << name;
    }
    config.DisableGlogInfo();
    EXPECT_EQ(Said(config), "");
  }
  for (const auto& [name, set] : kSo) {
    Config config(SavedModel());
    set(config);
    EXPECT_EQ(Said(config), "") << name;
  }
}

float Runs(const Config& config, float x = 1) {
  const auto p = CreatePredictor(config);
  const auto in = p->GetInputHandle("x");
  in->Reshape({1, 2});
  const float values[2] = {x, x == 1 ? 1.f : 0.f};
  in->CopyFromCpu(values);
  p->Run();
  float y[2];
  p->GetOutputHandle("y")->CopyToCpu(y);
  return y[0];
}

bool Refuses(const Config& config, const std::string& says) {
  try {
    CreatePredictor(config);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
    return true;
  }
  return false;
}

std::string Folder(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

// What the methods do, each with those that ask for what it set.
struct Effect {
  std::vector<std::string> methods;
  std::function<void()> seen;
};

const std::vector<Effect> kEffects = {
    {{"SetModel", "model", "parameters", "model_dir"},
     [] {
       Config c;
       EXPECT_TRUE(Refuses(c, "no model is set"));
       c.SetModel(SavedModel());
       EXPECT_EQ(c.model(), SavedModel());
       EXPECT_EQ(c.model_dir(), SavedModel());
       EXPECT_EQ(c.parameters(), "");
       EXPECT_EQ(Runs(c), 4);
     }},
    {{"SetProgFile", "SetParamsFile", "prog_file", "params_file"},
     [] {
       Config c;
       c.SetProgFile(SavedModel() + ".pdmodel");
       c.SetParamsFile(SavedModel() + ".pdiparams");
       EXPECT_EQ(c.prog_file(), SavedModel() + ".pdmodel");
       EXPECT_EQ(c.params_file(), SavedModel() + ".pdiparams");
       EXPECT_EQ(Runs(c), 4);
     }},
    {{"SetModelBuffer", "model_from_memory", "program_bytes",
      "parameter_bytes"},
     [] {
       const std::string p = Contents(SavedModel() + ".pdmodel");
       const std::string w = Contents(SavedModel() + ".pdiparams");
       Config c;
       EXPECT_FALSE(c.model_from_memory());
       c.SetModelBuffer(p.data(), p.size(), w.data(), w.size());
       EXPECT_TRUE(c.model_from_memory() && c.program_bytes() == p &&
                   c.parameter_bytes() == w);
       EXPECT_EQ(Runs(c), 4);
     }},
    {{"SetCpuMathLibraryNumThreads", "cpu_math_library_num_threads"},
     [] {
       Config c(SavedModel());
       EXPECT_EQ(c.cpu_math_library_num_threads(), 0);
       c.SetCpuMathLibraryNumThreads(GetNumThreads() + 1);
       const auto p = CreatePredictor(c);
       int threads = 0;
       p->RegisterOutputHook([&](const std::string&, const std::string&,
                                 const Tensor&) { threads = GetNumThreads(); });
       p->GetInputHandle("x")->Reshape({1, 2});
       p->GetInputHandle("x")->mutable_data<float>();
       p->Run();
       EXPECT_EQ(threads, c.cpu_math_library_num_threads());
       c.SetCpuMathLibraryNumThreads(-1);
       EXPECT_TRUE(Refuses(c, "negative"));
     }},
    {{"SwitchIrOptim", "ir_optim", "pass_builder", "passes", "DeletePass"},
     [] {
       const auto count = [](const Config& c) {
         int calls = 0;
         const auto p = CreatePredictor(c);
         // A chain of operations element by element is seen beside them.
         p->RegisterOutputHook(
             [&](const std::string& op, const std::string&, const Tensor&) {
               calls += op != "pointwise";
             });
         p->GetInputHandle("x")->Reshape({1, 2});
         p->GetInputHandle("x")->mutable_data<float>();
         p->Run();
         return calls;
       };
       Config c(TwiceTheSame());
       const int fused = count(c);
       c.SwitchIrOptim(false);
       EXPECT_FALSE(c.ir_optim());
       EXPECT_GT(count(c), fused);
       c.SwitchIrOptim();
       c.pass_builder()->ClearPasses();
       EXPECT_GT(count(c), fused);
       Config other(SavedModel());
       const size_t before = other.passes().size();
       other.DeletePass("dead_code");
       EXPECT_EQ(other.passes().size(), before - 1);
     }},
    {{"SwitchIrDebug", "ir_debug", "debugged_passes", "SetOptimCacheDir",
      "optim_cache_dir"},
     [] {
       Config c(SavedModel());
       c.SwitchIrDebug(true, {"dead_code"});
       c.SetOptimCacheDir(Folder("dumps"));
       EXPECT_TRUE(c.ir_debug() && c.debugged_passes().size() == 1 &&
                   c.optim_cache_dir() == Folder("dumps"));
       CreatePredictor(c);
       EXPECT_TRUE(
           std::filesystem::exists(Folder("dumps") + "/ir_00_loaded.txt"));
     }},
    {{"EnableMemoryOptim", "enable_memory_optim"},
     [] {
       const std::string mapped = SavedModel() + ".pdiparams";
       Config c(SavedModel());
       const auto maps = [&](bool on) {
         c.EnableMemoryOptim(on);
         EXPECT_EQ(c.enable_memory_optim(), on);
         const auto p = CreatePredictor(c);
         return Contents("/proc/self/maps").find(mapped) != std::string::npos;
       };
       EXPECT_TRUE(maps(true));
       EXPECT_FALSE(maps(false));
     }},
    {{"DisableGlogInfo", "glog_info_disabled", "ignored_settings"},
     [] {
       Config c(SavedModel());
       EXPECT_FALSE(c.glog_info_disabled());
       c.DisableGlogInfo();
       EXPECT_TRUE(c.glog_info_disabled());
       c.EnableUseGpu();
       EXPECT_EQ(c.ignored_settings().size(), 1u);
       EXPECT_EQ(Said(c), "");
     }},
    // 257 is no bfloat16.
    {{"EnableMkldnnBfloat16", "mkldnn_bfloat16_enabled"},
     [] {
       Config c(SavedModel());
       EXPECT_FALSE(c.mkldnn_bfloat16_enabled());
       EXPECT_EQ(Runs(c, 257), 258);
       c.EnableMkldnnBfloat16();
       EXPECT_TRUE(c.mkldnn_bfloat16_enabled());
       EXPECT_EQ(Runs(c, 257), 257);
     }},
    {{"EnableLowPrecisionIO", "low_precision_io_enabled"},
     [] {
       Config c(SavedModel());
       c.EnableMkldnnBfloat16();
       c.EnableLowPrecisionIO();
       EXPECT_TRUE(c.low_precision_io_enabled());
       EXPECT_EQ(CreatePredictor(c)->GetInputTypes().at("x"),
                 DataType::kBFloat16);
     }},
    {{"SetBfloat16Op", "bfloat16_ops", "Exp_DisableMixedPrecisionOps",
      "full_precision_ops", "Exp_EnableMixedPrecisionOps",
      "mixed_precision_ops"},
     [] {
       Config c(SavedModel());
       c.EnableMkldnnBfloat16();
       c.SetBfloat16Op({"conv2d"});
       EXPECT_EQ(c.bfloat16_ops(), std::vector<std::string>{"conv2d"});
       EXPECT_EQ(Runs(c, 257), 258);
       c.SetBfloat16Op({});
       c.Exp_DisableMixedPrecisionOps({"matmul_v2"});
       EXPECT_EQ(c.full_precision_ops(), std::vector<std::string>{"matmul_v2"});
       EXPECT_EQ(Runs(c, 257), 258);
       c.Exp_DisableMixedPrecisionOps({});
       c.Exp_EnableMixedPrecisionOps({"nothing"});
       EXPECT_EQ(c.mixed_precision_ops(), std::vector<std::string>{"nothing"});
       EXPECT_TRUE(Refuses(c, "nothing"));
     }},
    {{"EnableONNXRuntime", "DisableONNXRuntime", "use_onnxruntime",
      "onnxruntime_library", "EnableORTOptimization",
      "ort_optimization_enabled"},
     [] {
       Config c(SavedModel());
       c.EnableONNXRuntime("/nowhere/libonnxruntime.so");
       c.EnableORTOptimization();
       EXPECT_TRUE(c.use_onnxruntime() && c.ort_optimization_enabled());
       EXPECT_EQ(c.onnxruntime_library(), "/nowhere/libonnxruntime.so");
       EXPECT_TRUE(Refuses(c, "reads files of ONNX"));
       c.SetModel("net.onnx");
       EXPECT_TRUE(Refuses(c, "/nowhere/libonnxruntime.so"));
       EXPECT_TRUE(Refuses(c, "PROA_ONNXRUNTIME_LIBRARY"));
       c.EnableMkldnnBfloat16();
       EXPECT_TRUE(Refuses(c, "EnableMkldnnBfloat16"));
       c.DisableONNXRuntime();
       EXPECT_TRUE(Refuses(c, "EnableONNXRuntime runs it"));
       c.SetModel(SavedModel());
       EXPECT_EQ(Runs(c), 4);
     }},
    {{"EnableSubgraphEngine", "subgraph_engine"},
     [] {
       Config c(SavedModel());
       c.EnableSubgraphEngine("nothing");
       EXPECT_EQ(c.subgraph_engine(), "nothing");
       EXPECT_TRUE(Refuses(c, "is named 'nothing'; none is registered"));
       c.EnableSubgraphEngine("");
       EXPECT_EQ(Runs(c), 4);
     }},
    {{"Summary"},
     [] {
       Config c(SavedModel());
       c.SetCpuMathLibraryNumThreads(7);
       EXPECT_NE(c.Summary().find("cpu_math_thread     7"), std::string::npos);
     }},
};

TEST(Config, DoesWhatItSays) {
  for (const Effect& e : kEffects) {
    SCOPED_TRACE(e.methods[0]);
    e.seen();
  }
}

TEST(Config, EveryMethodIsAskedAbout) {
  std::set<std::string> asked;
  for (const auto& [name, f] : kIgnored) asked.insert(name);
  for (const auto& [name, f] : kSo) asked.insert(name);
  for (const auto& [name, f] : kAnswers) asked.insert(name);
  for (const Effect& e : kEffects) {
    asked.insert(e.methods.begin(), e.methods.end());
  }
  std::set<std::string> there = MethodsOf("inference/config.h", "Config");
  EXPECT_GT(there.size(), 40u);
  there.merge(MethodsOf("inference/accepted_settings.h", "AcceptedSettings"));
  EXPECT_GT(there.size(), 110u);
  EXPECT_EQ(asked, there);
}

}  // namespace
}  // namespace proa::inline v0::inference
