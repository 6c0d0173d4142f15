/* Which model a predictor runs, and how: proa::inference::Config in C.
 * Functions take null for `config` as an error, not a crash. */
#ifndef PROA_INFERENCE_C_PD_CONFIG_H_
#define PROA_INFERENCE_C_PD_CONFIG_H_

#include "inference/c/pd_config_engines.h"
#include "inference/c/pd_types.h"

#ifdef __cplusplus
extern "C" {
#endif

PD_CAPI PD_Config* PD_ConfigCreate(void);
PD_CAPI void PD_ConfigDestroy(PD_Config* config);

/* The files of program and parameters; `params` may be NULL or "" where `prog`
 * is a prefix or a folder. */
PD_CAPI void PD_ConfigSetModel(PD_Config* config, const char* prog,
                               const char* params);
PD_CAPI void PD_ConfigSetProgFile(PD_Config* config, const char* path);
PD_CAPI void PD_ConfigSetParamsFile(PD_Config* config, const char* path);
PD_CAPI void PD_ConfigSetModelDir(PD_Config* config, const char* folder);
/* Contents of the two files; copied. */
PD_CAPI void PD_ConfigSetModelBuffer(PD_Config* config, const char* prog,
                                     size_t prog_size, const char* params,
                                     size_t params_size);
PD_CAPI PD_Bool PD_ConfigModelFromMemory(PD_Config* config);
/* Good until the config changes. */
PD_CAPI const char* PD_ConfigGetModelDir(PD_Config* config);
PD_CAPI const char* PD_ConfigGetProgFile(PD_Config* config);
PD_CAPI const char* PD_ConfigGetParamsFile(PD_Config* config);

/* 0: as many as the process may use. */
PD_CAPI void PD_ConfigSetCpuMathLibraryNumThreads(PD_Config* config,
                                                  int32_t threads);
PD_CAPI int32_t PD_ConfigGetCpuMathLibraryNumThreads(PD_Config* config);

PD_CAPI void PD_ConfigSwitchIrOptim(PD_Config* config, PD_Bool on);
PD_CAPI PD_Bool PD_ConfigIrOptim(PD_Config* config);
PD_CAPI void PD_ConfigSwitchIrDebug(PD_Config* config, PD_Bool on);
PD_CAPI void PD_ConfigSetOptimCacheDir(PD_Config* config, const char* folder);
PD_CAPI void PD_ConfigDeletePass(PD_Config* config, const char* name);
PD_CAPI void PD_ConfigInsertPass(PD_Config* config, size_t index,
                                 const char* name);
PD_CAPI void PD_ConfigAppendPass(PD_Config* config, const char* name);
PD_CAPI PD_OneDimArrayCstr* PD_ConfigAllPasses(PD_Config* config);

/* Matrix products and convolutions in bfloat16: all of them, or those alone
 * that are named. */
PD_CAPI void PD_ConfigEnableMkldnnBfloat16(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigMkldnnBfloat16Enabled(PD_Config* config);
PD_CAPI void PD_ConfigSetBfloat16Op(PD_Config* config, size_t ops_num,
                                    const char** op_list);

/* On from the start: see proa::inference::Config. */
PD_CAPI void PD_ConfigEnableMemoryOptim(PD_Config* config, PD_Bool on);
PD_CAPI PD_Bool PD_ConfigMemoryOptimEnabled(PD_Config* config);
/* PD_PredictorCreate is silent about what changes nothing. */
PD_CAPI void PD_ConfigDisableGlogInfo(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigGlogInfoDisabled(PD_Config* config);

/* oneDNN computes in any case. */
PD_CAPI void PD_ConfigEnableMKLDNN(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigMkldnnEnabled(PD_Config* config);
PD_CAPI void PD_ConfigDisableGpu(PD_Config* config);

/* These change nothing, and PD_PredictorCreate says so; questions are answered
 * with what is true. */
PD_CAPI void PD_ConfigSetMkldnnCacheCapacity(PD_Config* config,
                                             int32_t capacity);
PD_CAPI void PD_ConfigEnableProfile(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigProfileEnabled(PD_Config* config);
PD_CAPI void PD_ConfigEnableUseGpu(PD_Config* config, uint64_t memory_mb,
                                   int32_t device);
PD_CAPI PD_Bool PD_ConfigUseGpu(PD_Config* config);
PD_CAPI int32_t PD_ConfigGpuDeviceId(PD_Config* config);
PD_CAPI int32_t PD_ConfigMemoryPoolInitSizeMb(PD_Config* config);
PD_CAPI float PD_ConfigFractionOfGpuMemoryForPool(PD_Config* config);
PD_CAPI void PD_ConfigEnableTensorRtEngine(PD_Config* config, int32_t workspace,
                                           int32_t max_batch,
                                           int32_t min_subgraph,
                                           PD_PrecisionType precision,
                                           PD_Bool use_static,
                                           PD_Bool use_calib_mode);
PD_CAPI PD_Bool PD_ConfigTensorRtEngineEnabled(PD_Config* config);
PD_CAPI PD_Bool PD_ConfigIsValid(PD_Config* config);

PD_CAPI PD_Cstr* PD_ConfigSummary(PD_Config* config);

#ifdef __cplusplus
}
#endif

#endif /* PROA_INFERENCE_C_PD_CONFIG_H_ */
