// Settings of PaddlePaddle's inference library that change nothing here, and
// why: programs written for it compile, run, and are told. Part of config.h.
//
// What asks for something that is not there is remembered by
// ignored_settings(), which CreatePredictor writes to the standard error
// (unless DisableGlogInfo) and Summary lists. Questions are answered
// truthfully: `use_gpu()` is false whatever was asked for.
#ifndef PROA_INFERENCE_ACCEPTED_SETTINGS_H_
#define PROA_INFERENCE_ACCEPTED_SETTINGS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "inference/types.h"

namespace proa::inline v0::inference {

class AcceptedSettings {
 public:
  using Precision = PrecisionType;
  using Names = std::vector<std::string>;
  using NameSet = std::unordered_set<std::string>;
  using Shapes = std::map<std::string, std::vector<int>>;

  // A line for each setting that was made and changes nothing.
  const std::vector<std::string>& ignored_settings() const { return ignored_; }

  // Models run on the CPU.
  void EnableUseGpu(uint64_t /*memory_mb*/ = 0, int /*device*/ = 0,
                    Precision /*precision*/ = Precision::kFloat32) {
    Ignore("EnableUseGpu", kCpu);
  }
  void DisableGpu() {}  // as in any case
  bool use_gpu() const { return false; }
  int gpu_device_id() const { return 0; }
  int memory_pool_init_size_mb() const { return 0; }
  float fraction_of_gpu_memory_for_pool() const { return 0; }
  void EnableCUDNN() { Ignore("EnableCUDNN", kCpu); }
  bool cudnn_enabled() const { return false; }
  void EnableGpuMultiStream() { Ignore("EnableGpuMultiStream", kCpu); }
  bool thread_local_stream_enabled() const { return false; }
  void SetExecStream(void* /*stream*/) { Ignore("SetExecStream", kCpu); }
  void* GetExecStream() const { return nullptr; }
  bool external_stream_enabled() const { return false; }
  void EnableXpu(int /*l3_workspace_size*/ = 0, bool /*locked*/ = false,
                 bool /*autotune*/ = true,
                 const std::string& /*autotune_file*/ = "",
                 const std::string& /*precision*/ = "int16",
                 bool /*adaptive_seqlen*/ = false) {
    Ignore("EnableXpu", kCpu);
  }
  void SetXpuDeviceId(int /*device*/ = 0) { Ignore("SetXpuDeviceId", kCpu); }
  bool use_xpu() const { return false; }
  int xpu_device_id() const { return 0; }
  void EnableNpu(int /*device*/ = 0) { Ignore("EnableNpu", kCpu); }
  bool use_npu() const { return false; }
  int npu_device_id() const { return 0; }
  void EnableIpu(int /*devices*/ = 1, int /*micro_batch*/ = 1,
                 bool /*pipelining*/ = false, int /*batches_per_step*/ = 1) {
    Ignore("EnableIpu", kCpu);
  }
  void SetIpuConfig(bool /*fp16*/ = false, int /*replicas*/ = 1,
                    float /*memory_proportion*/ = 1,
                    bool /*half_partial*/ = false) {
    Ignore("SetIpuConfig", kCpu);
  }
  void LoadIpuConfig(const std::string& /*path*/) {
    Ignore("LoadIpuConfig", kCpu);
  }
  bool use_ipu() const { return false; }
  int ipu_device_num() const { return 0; }
  void EnableCustomDevice(const std::string& /*type*/, int /*device*/ = 0) {
    Ignore("EnableCustomDevice", kCpu);
  }
  bool use_custom_device() const { return false; }
  int custom_device_id() const { return 0; }
  std::string custom_device_type() const { return {}; }

  // Models run by this library's own code, or by ONNX Runtime.
  void EnableTensorRtEngine(int64_t /*workspace*/ = 0, int /*max_batch*/ = 1,
                            int /*min_subgraph*/ = 3,
                            Precision /*precision*/ = Precision::kFloat32,
                            bool /*use_static*/ = false,
                            bool /*use_calib_mode*/ = true) {
    Ignore("EnableTensorRtEngine", kNoTensorRt);
  }
  bool tensorrt_engine_enabled() const { return false; }
  Precision tensorrt_precision_mode() const { return Precision::kFloat32; }
  void SetTRTDynamicShapeInfo(const Shapes& /*least*/, const Shapes& /*most*/,
                              const Shapes& /*best*/,
                              bool /*disable_fp16*/ = false) {
    Ignore("SetTRTDynamicShapeInfo", kNoTensorRt);
  }
  bool tensorrt_dynamic_shape_enabled() const { return false; }
  void EnableTunedTensorRtDynamicShape(const std::string& /*path*/ = "",
                                       bool /*at_run_time*/ = true) {
    Ignore("EnableTunedTensorRtDynamicShape", kNoTensorRt);
  }
  bool tuned_tensorrt_dynamic_shape() const { return false; }
  bool trt_allow_build_at_runtime() const { return false; }
  void CollectShapeRangeInfo(const std::string& /*path*/) {
    Ignore("CollectShapeRangeInfo",
           "shapes are collected for TensorRT, which "
           "is not here");
  }
  std::string shape_range_info_path() const { return {}; }
  bool shape_range_info_collected() const { return false; }
  void Exp_DisableTensorRtOPs(const Names& /*ops*/) {}  // as in any case
  void EnableVarseqlen() { Ignore("EnableVarseqlen", kNoTensorRt); }
  bool tensorrt_varseqlen_enabled() const { return false; }
  void EnableTensorRtOSS() { Ignore("EnableTensorRtOSS", kNoTensorRt); }
  bool tensorrt_oss_enabled() const { return false; }
  void EnableTensorRtDLA(int /*core*/ = 0) {
    Ignore("EnableTensorRtDLA", kNoTensorRt);
  }
  bool tensorrt_dla_enabled() const { return false; }
  void EnableTensorRtInspector() {
    Ignore("EnableTensorRtInspector", kNoTensorRt);
  }
  bool tensorrt_inspector_enabled() const { return false; }
  void EnableTensorRtInterleaved(bool on = true) {
    if (on) Ignore("EnableTensorRtInterleaved", kNoTensorRt);
  }
  void EnableDlnne() { Ignore("EnableDlnne", "there is no DLNNE here"); }
  bool dlnne_enabled() const { return false; }
  void EnableLiteEngine(Precision /*precision*/ = Precision::kFloat32,
                        bool /*zero_copy*/ = false,
                        const Names& /*without_passes*/ = {},
                        const Names& /*without_ops*/ = {}) {
    Ignore("EnableLiteEngine", "there is no Paddle Lite here");
  }
  bool lite_engine_enabled() const { return false; }

  // oneDNN computes where it is the fastest, in any case.
  void DisableMKLDNN() {
    Ignore("DisableMKLDNN", "oneDNN computes where it is the fastest");
  }
  void SetMKLDNNOp(const NameSet& /*ops*/) {
    Ignore("SetMKLDNNOp", "oneDNN computes where it is the fastest");
  }
  void SetMkldnnCacheCapacity(int /*shapes*/) {
    Ignore("SetMkldnnCacheCapacity",
           "what is kept for shapes is bounded "
           "without it");
  }
  void DisableFCPadding() {}  // as in any case
  bool use_fc_padding() const { return false; }

  // A model computes in the types in which it was saved, or in bfloat16.
  void EnableMkldnnInt8(const NameSet& /*ops*/ = {}) {
    Ignore("EnableMkldnnInt8", kNoInt8);
  }
  bool mkldnn_int8_enabled() const { return false; }
  void EnableMkldnnQuantizer() { Ignore("EnableMkldnnQuantizer", kNoInt8); }
  bool mkldnn_quantizer_enabled() const { return false; }
  void SetCalibrationFilePath(const std::string& /*path*/ = "") {
    Ignore("SetCalibrationFilePath", kNoInt8);
  }
  std::string CalibrationFilePath() const { return {}; }

  // Inputs and outputs are handles, known by their names and by their order.
  void SwitchUseFeedFetchOps(int on = 1) {
    if (on != 0) {
      Ignore("SwitchUseFeedFetchOps",
             "inputs and outputs are handles; there "
             "are no ops of feeding and fetching");
    }
  }
  bool use_feed_fetch_ops_enabled() const { return false; }
  void SwitchSpecifyInputNames(bool on = true) {
    if (!on) {
      Ignore("SwitchSpecifyInputNames",
             "inputs are known by their names and "
             "by their order in any case");
    }
  }
  bool specify_input_name() const { return true; }

  void EnableProfile() {
    Ignore("EnableProfile",
           "time spent in operations is measured in Python, "
           "by proa.profiler");
  }
  bool profile_enabled() const { return false; }
  void PartiallyRelease() {
    Ignore("PartiallyRelease",
           "nothing is kept between runs; "
           "TryShrinkMemory gives memory back");
  }

 private:
  static constexpr char kCpu[] = "models run on the CPU";
  static constexpr char kNoTensorRt[] = "there is no TensorRT here";
  static constexpr char kNoInt8[] =
      "models compute in the types in which they were saved; "
      "EnableMkldnnBfloat16 is the other choice";

  void Ignore(const char* name, const char* why) {
    const std::string line = std::string(name) + " changes nothing: " + why;
    if (std::find(ignored_.begin(), ignored_.end(), line) == ignored_.end()) {
      ignored_.push_back(line);
    }
  }

  std::vector<std::string> ignored_;
};

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_ACCEPTED_SETTINGS_H_
