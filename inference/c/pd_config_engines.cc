#include "inference/c/pd_config_engines.h"

#include <string>

#include "inference/c/handles.h"

namespace c = proa::inference::c;

namespace {

using Config = proa::inference::Config;

template <typename F>
void With(PD_Config* config, F body) {
  c::Guard([&] { body(c::Of(config, "PD_Config").config); });
}

template <typename F>
PD_Bool Is(PD_Config* config, F body) {
  return c::Try<PD_Bool>(
      [&] { return body(c::Of(config, "PD_Config").config); });
}

}  // namespace

// What sets, under the name of proa::inference::Config.
#define PROA_SETTING(name, method)                 \
  void name(PD_Config* config) {                   \
    With(config, [](Config& it) { it.method(); }); \
  }
// What asks.
#define PROA_ANSWER(name, method)                              \
  PD_Bool name(PD_Config* config) {                            \
    return Is(config, [](Config& it) { return it.method(); }); \
  }

PROA_SETTING(PD_ConfigEnableCudnn, EnableCUDNN)
PROA_ANSWER(PD_ConfigCudnnEnabled, cudnn_enabled)
PROA_SETTING(PD_ConfigEnableGpuMultiStream, EnableGpuMultiStream)
PROA_ANSWER(PD_ConfigThreadLocalStreamEnabled, thread_local_stream_enabled)
PROA_ANSWER(PD_ConfigUseXpu, use_xpu)
PROA_ANSWER(PD_ConfigUseNpu, use_npu)
PROA_ANSWER(PD_ConfigONNXRuntimeEnabled, use_onnxruntime)
PROA_SETTING(PD_ConfigDisableONNXRuntime, DisableONNXRuntime)
PROA_SETTING(PD_ConfigEnableORTOptimization, EnableORTOptimization)
PROA_ANSWER(PD_ConfigTensorRtDynamicShapeEnabled,
            tensorrt_dynamic_shape_enabled)
PROA_SETTING(PD_ConfigEnableTensorRtOSS, EnableTensorRtOSS)
PROA_ANSWER(PD_ConfigTensorRtOssEnabled, tensorrt_oss_enabled)
PROA_ANSWER(PD_ConfigTensorRtDlaEnabled, tensorrt_dla_enabled)
PROA_SETTING(PD_ConfigEnableMkldnnQuantizer, EnableMkldnnQuantizer)
PROA_ANSWER(PD_ConfigMkldnnQuantizerEnabled, mkldnn_quantizer_enabled)
PROA_SETTING(PD_ConfigPartiallyRelease, PartiallyRelease)
PROA_ANSWER(PD_ConfigTunedTensorRtDynamicShape, tuned_tensorrt_dynamic_shape)
PROA_ANSWER(PD_ConfigTrtAllowBuildAtRuntime, trt_allow_build_at_runtime)
PROA_ANSWER(PD_ConfigShapeRangeInfoCollected, shape_range_info_collected)
PROA_SETTING(PD_ConfigEnableVarseqlen, EnableVarseqlen)
PROA_ANSWER(PD_ConfigLiteEngineEnabled, lite_engine_enabled)

#undef PROA_SETTING
#undef PROA_ANSWER

int32_t PD_ConfigXpuDeviceId(PD_Config* config) {
  return c::Try<int32_t>(
      [&] { return c::Of(config, "PD_Config").config.xpu_device_id(); });
}
int32_t PD_ConfigNpuDeviceId(PD_Config* config) {
  return c::Try<int32_t>(
      [&] { return c::Of(config, "PD_Config").config.npu_device_id(); });
}
void PD_ConfigEnableNpu(PD_Config* config, int32_t device) {
  With(config, [&](Config& it) { it.EnableNpu(device); });
}
void PD_ConfigEnableONNXRuntime(PD_Config* config) {
  With(config, [](Config& it) {
    it.EnableONNXRuntime(std::string(it.onnxruntime_library()));
  });
}
void PD_ConfigSetONNXRuntimeLibrary(PD_Config* config, const char* path) {
  With(config, [&](Config& it) {
    const bool enabled = it.use_onnxruntime();
    it.EnableONNXRuntime(static_cast<const char*>(
        c::NotNull(path, "PD_ConfigSetONNXRuntimeLibrary: path")));
    if (!enabled) it.DisableONNXRuntime();
  });
}
void PD_ConfigSetTrtDynamicShapeInfo(PD_Config* config, size_t, const char**,
                                     size_t*, int32_t**, int32_t**, int32_t**,
                                     PD_Bool) {
  With(config, [](Config& it) { it.SetTRTDynamicShapeInfo({}, {}, {}); });
}
void PD_ConfigEnableXpu(PD_Config* config, int32_t, PD_Bool, PD_Bool,
                        const char*, const char*, PD_Bool) {
  With(config, [](Config& it) { it.EnableXpu(); });
}
void PD_ConfigEnableTunedTensorRtDynamicShape(PD_Config* config, const char*,
                                              PD_Bool) {
  With(config, [](Config& it) { it.EnableTunedTensorRtDynamicShape(); });
}
void PD_ConfigCollectShapeRangeInfo(PD_Config* config, const char*) {
  With(config, [](Config& it) { it.CollectShapeRangeInfo(""); });
}
const char* PD_ConfigShapeRangeInfoPath(PD_Config* config) {
  return c::Try<const char*>([&] {
    c::Of(config, "PD_Config");
    return "";
  });
}
void PD_ConfigEnableLiteEngine(PD_Config* config, PD_PrecisionType, PD_Bool,
                               size_t, const char**, size_t, const char**) {
  With(config, [](Config& it) { it.EnableLiteEngine(); });
}
void PD_ConfigDisableTensorRtOPs(PD_Config* config, size_t, const char**) {
  With(config, [](Config& it) { it.Exp_DisableTensorRtOPs({}); });
}
void PD_ConfigEnableTensorRtDla(PD_Config* config, int32_t dla_core) {
  With(config, [&](Config& it) { it.EnableTensorRtDLA(dla_core); });
}
void PD_ConfigSetMkldnnOp(PD_Config* config, size_t, const char**) {
  With(config, [](Config& it) { it.SetMKLDNNOp({}); });
}
