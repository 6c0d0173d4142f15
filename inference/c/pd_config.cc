#include "inference/c/pd_config.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "inference/c/handles.h"

namespace c = proa::inference::c;

namespace {

// Calls `body` with the config; errors are noted.
template <typename F>
void With(PD_Config* config, F body) {
  c::Guard([&] { body(c::Of(config, "PD_Config").config); });
}

// What `body` returns, or nothing.
template <typename F>
auto Ask(PD_Config* config, F body)
    -> decltype(body(std::declval<proa::inference::Config&>())) {
  using R = decltype(body(std::declval<proa::inference::Config&>()));
  return c::Try<R>([&] { return body(c::Of(config, "PD_Config").config); });
}

const char* Text(const char* text, const char* what) {
  return static_cast<const char*>(c::NotNull(text, what));
}

using Config = proa::inference::Config;

}  // namespace

PD_Config* PD_ConfigCreate(void) {
  return c::Try<PD_Config*>([] { return new PD_Config; });
}
void PD_ConfigDestroy(PD_Config* config) { delete config; }

void PD_ConfigSetModel(PD_Config* config, const char* prog,
                       const char* params) {
  With(config, [&](Config& it) {
    const std::string program = Text(prog, "PD_ConfigSetModel: prog");
    if (params == nullptr || *params == '\0') {
      it.SetModel(program);
    } else {
      it.SetModel(program, params);
    }
  });
}
void PD_ConfigSetProgFile(PD_Config* config, const char* path) {
  With(config, [&](Config& it) {
    it.SetProgFile(Text(path, "PD_ConfigSetProgFile: path"));
  });
}
void PD_ConfigSetParamsFile(PD_Config* config, const char* path) {
  With(config, [&](Config& it) {
    it.SetParamsFile(Text(path, "PD_ConfigSetParamsFile: path"));
  });
}
void PD_ConfigSetModelDir(PD_Config* config, const char* folder) {
  With(config, [&](Config& it) {
    config->folder = Text(folder, "PD_ConfigSetModelDir: folder");
    it.SetModel(config->folder);
  });
}
void PD_ConfigSetModelBuffer(PD_Config* config, const char* prog,
                             size_t prog_size, const char* params,
                             size_t params_size) {
  With(config, [&](Config& it) {
    it.SetModelBuffer(prog, prog_size, params, params_size);
  });
}
PD_Bool PD_ConfigModelFromMemory(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.model_from_memory(); });
}
const char* PD_ConfigGetModelDir(PD_Config* config) {
  return Ask(config,
             [&](Config&) -> const char* { return config->folder.c_str(); });
}
const char* PD_ConfigGetProgFile(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.prog_file().c_str(); });
}
const char* PD_ConfigGetParamsFile(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.params_file().c_str(); });
}

void PD_ConfigSetCpuMathLibraryNumThreads(PD_Config* config, int32_t threads) {
  With(config, [&](Config& it) { it.SetCpuMathLibraryNumThreads(threads); });
}
int32_t PD_ConfigGetCpuMathLibraryNumThreads(PD_Config* config) {
  return Ask(config,
             [](Config& it) { return it.cpu_math_library_num_threads(); });
}

void PD_ConfigSwitchIrOptim(PD_Config* config, PD_Bool on) {
  With(config, [&](Config& it) { it.SwitchIrOptim(on); });
}
PD_Bool PD_ConfigIrOptim(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.ir_optim(); });
}
void PD_ConfigSwitchIrDebug(PD_Config* config, PD_Bool on) {
  With(config, [&](Config& it) { it.SwitchIrDebug(on); });
}
void PD_ConfigSetOptimCacheDir(PD_Config* config, const char* folder) {
  With(config, [&](Config& it) {
    it.SetOptimCacheDir(Text(folder, "PD_ConfigSetOptimCacheDir: folder"));
  });
}
void PD_ConfigDeletePass(PD_Config* config, const char* name) {
  With(config, [&](Config& it) {
    it.pass_builder()->DeletePass(Text(name, "PD_ConfigDeletePass: name"));
  });
}
void PD_ConfigInsertPass(PD_Config* config, size_t index, const char* name) {
  With(config, [&](Config& it) {
    it.pass_builder()->InsertPass(index,
                                  Text(name, "PD_ConfigInsertPass: name"));
  });
}
void PD_ConfigAppendPass(PD_Config* config, const char* name) {
  With(config, [&](Config& it) {
    it.pass_builder()->AppendPass(Text(name, "PD_ConfigAppendPass: name"));
  });
}
PD_OneDimArrayCstr* PD_ConfigAllPasses(PD_Config* config) {
  return Ask(config,
             [](Config& it) { return c::NewTexts(it.passes().AllPasses()); });
}

void PD_ConfigEnableMemoryOptim(PD_Config* config, PD_Bool on) {
  With(config, [&](Config& it) { it.EnableMemoryOptim(on); });
}
PD_Bool PD_ConfigMemoryOptimEnabled(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.enable_memory_optim(); });
}
void PD_ConfigEnableMKLDNN(PD_Config* config) {
  With(config, [](Config& it) { it.EnableMKLDNN(); });
}
PD_Bool PD_ConfigMkldnnEnabled(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.mkldnn_enabled(); });
}
void PD_ConfigSetMkldnnCacheCapacity(PD_Config* config, int32_t capacity) {
  With(config, [&](Config& it) { it.SetMkldnnCacheCapacity(capacity); });
}
void PD_ConfigEnableMkldnnBfloat16(PD_Config* config) {
  With(config, [](Config& it) { it.EnableMkldnnBfloat16(); });
}
PD_Bool PD_ConfigMkldnnBfloat16Enabled(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.mkldnn_bfloat16_enabled(); });
}
void PD_ConfigSetBfloat16Op(PD_Config* config, size_t ops_num,
                            const char** op_list) {
  With(config, [&](Config& it) {
    if (ops_num > 0) c::NotNull(op_list, "PD_ConfigSetBfloat16Op: op_list");
    std::unordered_set<std::string> ops;
    for (size_t i = 0; i < ops_num; ++i) {
      ops.insert(Text(op_list[i], "PD_ConfigSetBfloat16Op: op_list"));
    }
    it.SetBfloat16Op(std::move(ops));
  });
}
void PD_ConfigEnableProfile(PD_Config* config) {
  With(config, [](Config& it) { it.EnableProfile(); });
}
PD_Bool PD_ConfigProfileEnabled(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.profile_enabled(); });
}
void PD_ConfigDisableGlogInfo(PD_Config* config) {
  With(config, [](Config& it) { it.DisableGlogInfo(); });
}
PD_Bool PD_ConfigGlogInfoDisabled(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.glog_info_disabled(); });
}
void PD_ConfigEnableUseGpu(PD_Config* config, uint64_t memory_mb,
                           int32_t device) {
  With(config, [&](Config& it) { it.EnableUseGpu(memory_mb, device); });
}
void PD_ConfigDisableGpu(PD_Config* config) {
  With(config, [](Config& it) { it.DisableGpu(); });
}
PD_Bool PD_ConfigUseGpu(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.use_gpu(); });
}
int32_t PD_ConfigGpuDeviceId(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.gpu_device_id(); });
}
int32_t PD_ConfigMemoryPoolInitSizeMb(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.memory_pool_init_size_mb(); });
}
float PD_ConfigFractionOfGpuMemoryForPool(PD_Config* config) {
  return Ask(config,
             [](Config& it) { return it.fraction_of_gpu_memory_for_pool(); });
}
void PD_ConfigEnableTensorRtEngine(PD_Config* config, int32_t workspace,
                                   int32_t max_batch, int32_t min_subgraph,
                                   PD_PrecisionType, PD_Bool use_static,
                                   PD_Bool use_calib_mode) {
  With(config, [&](Config& it) {
    it.EnableTensorRtEngine(workspace, max_batch, min_subgraph,
                            proa::inference::PrecisionType::kFloat32,
                            use_static, use_calib_mode);
  });
}
PD_Bool PD_ConfigTensorRtEngineEnabled(PD_Config* config) {
  return Ask(config, [](Config& it) { return it.tensorrt_engine_enabled(); });
}
PD_Bool PD_ConfigIsValid(PD_Config* config) { return config != nullptr; }

PD_Cstr* PD_ConfigSummary(PD_Config* config) {
  return Ask(config, [](Config& it) { return c::NewCstr(it.Summary()); });
}
