/* Other engines and devices, by PaddlePaddle's names; pd_config.h includes
 * this.
 *
 * ONNX Runtime runs models of ONNX where its library is there. The rest changes
 * nothing: PD_PredictorCreate says so on the standard error (unless
 * PD_ConfigDisableGlogInfo), PD_ConfigSummary lists it, and questions are
 * answered truthfully, with false (inference/accepted_settings.h tells why). */
#ifndef PROA_INFERENCE_C_PD_CONFIG_ENGINES_H_
#define PROA_INFERENCE_C_PD_CONFIG_ENGINES_H_

#include "inference/c/pd_types.h"

#ifdef __cplusplus
extern "C" {
#endif

PD_CAPI void PD_ConfigEnableCudnn(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigCudnnEnabled(PD_Config* config);
PD_CAPI void PD_ConfigEnableGpuMultiStream(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigThreadLocalStreamEnabled(PD_Config* config);
PD_CAPI void PD_ConfigEnableXpu(PD_Config* config, int32_t l3_workspace_size,
                                PD_Bool locked, PD_Bool autotune,
                                const char* autotune_file,
                                const char* precision, PD_Bool adaptive_seqlen);
PD_CAPI PD_Bool PD_ConfigUseXpu(PD_Config* config);
PD_CAPI int32_t PD_ConfigXpuDeviceId(PD_Config* config);
PD_CAPI void PD_ConfigEnableNpu(PD_Config* config, int32_t device);
PD_CAPI PD_Bool PD_ConfigUseNpu(PD_Config* config);
PD_CAPI int32_t PD_ConfigNpuDeviceId(PD_Config* config);
/* The model is a file of ONNX then. PD_PredictorCreate loads the library: what
 * PD_ConfigSetONNXRuntimeLibrary said, or the environment variable
 * PROA_ONNXRUNTIME_LIBRARY, or the system's libonnxruntime.so.1. Without it,
 * and for other models, it fails. */
PD_CAPI void PD_ConfigEnableONNXRuntime(PD_Config* config);
PD_CAPI void PD_ConfigSetONNXRuntimeLibrary(PD_Config* config,
                                            const char* path);
PD_CAPI void PD_ConfigDisableONNXRuntime(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigONNXRuntimeEnabled(PD_Config* config);
PD_CAPI void PD_ConfigEnableORTOptimization(PD_Config* config);
PD_CAPI void PD_ConfigSetTrtDynamicShapeInfo(
    PD_Config* config, size_t tensor_num, const char** tensor_name,
    size_t* shapes_num, int32_t** min_shape, int32_t** max_shape,
    int32_t** optim_shape, PD_Bool disable_trt_plugin_fp16);
PD_CAPI PD_Bool PD_ConfigTensorRtDynamicShapeEnabled(PD_Config* config);
PD_CAPI void PD_ConfigEnableTunedTensorRtDynamicShape(
    PD_Config* config, const char* shape_range_info_path,
    PD_Bool allow_build_at_runtime);
PD_CAPI PD_Bool PD_ConfigTunedTensorRtDynamicShape(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigTrtAllowBuildAtRuntime(PD_Config* config);
PD_CAPI void PD_ConfigCollectShapeRangeInfo(PD_Config* config,
                                            const char* shape_range_info_path);
/* "": there is none. */
PD_CAPI const char* PD_ConfigShapeRangeInfoPath(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigShapeRangeInfoCollected(PD_Config* config);
PD_CAPI void PD_ConfigEnableVarseqlen(PD_Config* config);
PD_CAPI void PD_ConfigEnableLiteEngine(
    PD_Config* config, PD_PrecisionType precision, PD_Bool zero_copy,
    size_t passes_filter_num, const char** passes_filter, size_t ops_filter_num,
    const char** ops_filter);
PD_CAPI PD_Bool PD_ConfigLiteEngineEnabled(PD_Config* config);
PD_CAPI void PD_ConfigDisableTensorRtOPs(PD_Config* config, size_t ops_num,
                                         const char** ops_name);
PD_CAPI void PD_ConfigEnableTensorRtOSS(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigTensorRtOssEnabled(PD_Config* config);
PD_CAPI void PD_ConfigEnableTensorRtDla(PD_Config* config, int32_t dla_core);
PD_CAPI PD_Bool PD_ConfigTensorRtDlaEnabled(PD_Config* config);
PD_CAPI void PD_ConfigSetMkldnnOp(PD_Config* config, size_t ops_num,
                                  const char** op_list);
PD_CAPI void PD_ConfigEnableMkldnnQuantizer(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigMkldnnQuantizerEnabled(PD_Config* config);
PD_CAPI void PD_ConfigPartiallyRelease(PD_Config* config);

#ifdef __cplusplus
}
#endif

#endif /* PROA_INFERENCE_C_PD_CONFIG_ENGINES_H_ */
