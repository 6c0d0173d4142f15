#include "inference/c/pd_config_engines.h"

// Each does nothing, or says no; the header tells why.

void PD_ConfigEnableCudnn(PD_Config*) {}
PD_Bool PD_ConfigCudnnEnabled(PD_Config*) { return 0; }
void PD_ConfigEnableGpuMultiStream(PD_Config*) {}
PD_Bool PD_ConfigThreadLocalStreamEnabled(PD_Config*) { return 0; }
PD_Bool PD_ConfigUseXpu(PD_Config*) { return 0; }
int32_t PD_ConfigXpuDeviceId(PD_Config*) { return 0; }
void PD_ConfigEnableNpu(PD_Config*, int32_t) {}
PD_Bool PD_ConfigUseNpu(PD_Config*) { return 0; }
int32_t PD_ConfigNpuDeviceId(PD_Config*) { return 0; }
void PD_ConfigEnableONNXRuntime(PD_Config*) {}
void PD_ConfigDisableONNXRuntime(PD_Config*) {}
PD_Bool PD_ConfigONNXRuntimeEnabled(PD_Config*) { return 0; }
void PD_ConfigEnableORTOptimization(PD_Config*) {}
void PD_ConfigSetTrtDynamicShapeInfo(PD_Config*, size_t, const char**, size_t*,
                                     int32_t**, int32_t**, int32_t**, PD_Bool) {
}
PD_Bool PD_ConfigTensorRtDynamicShapeEnabled(PD_Config*) { return 0; }
void PD_ConfigDisableTensorRtOPs(PD_Config*, size_t, const char**) {}
void PD_ConfigEnableTensorRtOSS(PD_Config*) {}
PD_Bool PD_ConfigTensorRtOssEnabled(PD_Config*) { return 0; }
void PD_ConfigEnableTensorRtDla(PD_Config*, int32_t) {}
PD_Bool PD_ConfigTensorRtDlaEnabled(PD_Config*) { return 0; }
void PD_ConfigSetMkldnnOp(PD_Config*, size_t, const char**) {}
void PD_ConfigEnableMkldnnQuantizer(PD_Config*) {}
PD_Bool PD_ConfigMkldnnQuantizerEnabled(PD_Config*) { return 0; }
void PD_ConfigPartiallyRelease(PD_Config*) {}
