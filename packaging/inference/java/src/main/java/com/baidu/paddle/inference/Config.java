package com.baidu.paddle.inference;

/**
 * Which model a {@link Predictor} runs, and how. Close it unless a predictor was made of it.
 *
 * <p>Errors are IllegalArgumentException with a sentence that says what and where; IllegalStateException for what is
 * closed.
 */
public final class Config implements AutoCloseable {
  private final Native.Handle handle = new Native.Handle(Native.configCreate(), Native::configDestroy);

  private String folder = "";

  public Config() {
    Native.CLEANER.register(this, handle);
  }

  /** Program and parameters by their files. */
  public Config(String program, String parameters) {
    this();
    setCppModel(program, parameters);
  }

  private synchronized long address() {
    return handle.get("Config");
  }

  synchronized long take() {
    return handle.take("Config");
  }

  public synchronized void setCppModel(String program, String parameters) {
    Native.configSetModel(address(), program, parameters);
    folder = "";
  }

  /** A folder, or the path of the files without their endings. */
  public synchronized void setCppModelDir(String folder) {
    Native.configSetModel(address(), folder, "");
    this.folder = folder;
  }

  /** What setCppModelDir said; empty after setCppModel. */
  public synchronized String getCppModelDir() {
    address();
    return folder;
  }

  public synchronized String getProgFile() {
    return Native.configProgFile(address());
  }

  public synchronized String getParamsFile() {
    return Native.configParamsFile(address());
  }

  /** PaddlePaddle's name of getParamsFile. */
  public String getCppParamsFile() {
    return getParamsFile();
  }

  /** Threads of one run; 0: as many as the process may use. */
  public synchronized void setCpuMathLibraryNumThreads(int threads) {
    Native.configSetThreads(address(), threads);
  }

  public synchronized int getCpuMathLibraryNumThreads() {
    return Native.configThreads(address());
  }

  public synchronized void switchIrOptim(boolean on) {
    Native.configSwitchIrOptim(address(), on);
  }

  public synchronized boolean isIrOptim() {
    return Native.configIrOptim(address());
  }

  /** Writes the program before and after each pass into the folder of setOptimCacheDir, or the current one. */
  public synchronized void switchIrDebug(boolean on) {
    Native.configSwitchIrDebug(address(), on);
  }

  public synchronized void setOptimCacheDir(String folder) {
    Native.configSetOptimCacheDir(address(), folder);
  }

  public synchronized void deletePass(String name) {
    Native.configDeletePass(address(), name);
  }

  public synchronized void insertPass(long index, String name) {
    Native.configInsertPass(address(), index, name);
  }

  public synchronized String[] allPasses() {
    return Native.configPasses(address());
  }

  /** oneDNN computes in any case. */
  public synchronized void enableMKLDNN() {
    Native.configEnableMKLDNN(address());
  }

  public synchronized boolean mkldnnEnabled() {
    return Native.configMkldnnEnabled(address());
  }

  /** Matrix products and convolutions compute in bfloat16; inputs and results keep their types. */
  public synchronized void enableMkldnnBfloat16() {
    Native.configEnableMkldnnBfloat16(address());
  }

  public synchronized boolean isMkldnnBfloat16Enabled() {
    return Native.configMkldnnBfloat16Enabled(address());
  }

  /** Leaves the weights in the file, mapped: processes that run the model share them. */
  public synchronized void enableMemoryOptim(boolean on) {
    Native.configEnableMemoryOptim(address(), on);
  }

  public synchronized boolean isMemoryOptimEnabled() {
    return Native.configMemoryOptimEnabled(address());
  }

  /** A predictor is silent about settings that change nothing. */
  public synchronized void disableGlogInfo() {
    Native.configDisableGlogInfo(address());
  }

  public synchronized boolean isGlogInfoDisabled() {
    return Native.configGlogInfoDisabled(address());
  }

  /**
   * ONNX Runtime runs the model, a file of ONNX. {@link Predictor} loads its library and throws where it cannot: what
   * setONNXRuntimeLibrary said, or the environment variable PROA_ONNXRUNTIME_LIBRARY, or the system's
   * libonnxruntime.so.1.
   */
  public synchronized void enableONNXRuntime() {
    Native.configEnableONNXRuntime(address());
  }

  public synchronized void disableONNXRuntime() {
    Native.configDisableONNXRuntime(address());
  }

  public synchronized boolean isONNXRuntimeEnabled() {
    return Native.configONNXRuntimeEnabled(address());
  }

  /** The path of the library. */
  public synchronized void setONNXRuntimeLibrary(String path) {
    Native.configSetONNXRuntimeLibrary(address(), path);
  }

  // What follows changes nothing, and a predictor says so on the standard error; questions are answered truthfully.

  /** Changes nothing: models run on the CPU. */
  public synchronized void enableUseGpu(long megabytes, int device) {
    Native.configEnableUseGpu(address(), megabytes, device);
  }

  /** The CPU, as in any case. */
  public synchronized void disableGpu() {
    Native.configDisableGpu(address());
  }

  public synchronized boolean isUseGpu() {
    return Native.configUseGpu(address());
  }

  /** Changes nothing: time spent in operations is measured in Python, by proa.profiler. */
  public synchronized void enableProfile() {
    Native.configEnableProfile(address());
  }

  /** 0: models run on the CPU. */
  public int getGpuDeviceId() {
    address();
    return 0;
  }

  public int getMemoryPoolInitSizeMb() {
    address();
    return 0;
  }

  public float getFractionOfGpuMemoryForPool() {
    address();
    return 0;
  }

  public synchronized boolean isProfileEnabled() {
    return Native.configProfileEnabled(address());
  }

  public synchronized String summary() {
    return Native.configSummary(address());
  }

  @Override
  public synchronized void close() {
    handle.run();
  }
}
