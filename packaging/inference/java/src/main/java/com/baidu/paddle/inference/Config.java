package com.baidu.paddle.inference;

/**
 * Which model a {@link Predictor} runs, and how. Close it unless a predictor was made of it.
 *
 * <p>Errors are IllegalArgumentException with a sentence that says what and where; IllegalStateException for what is
 * closed.
 */
public final class Config implements AutoCloseable {
  private final Native.Handle handle = new Native.Handle(Native.configCreate(), Native::configDestroy);

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
  }

  /** A folder, or the path of the files without their endings. */
  public synchronized void setCppModelDir(String folder) {
    Native.configSetModel(address(), folder, "");
  }

  public synchronized String getProgFile() {
    return Native.configProgFile(address());
  }

  public synchronized String getParamsFile() {
    return Native.configParamsFile(address());
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

  /** Accepted: oneDNN computes in any case. */
  public synchronized void enableMKLDNN() {}

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

  /** Accepted: nothing is logged. */
  public synchronized void disableGlogInfo() {}

  public synchronized String summary() {
    return Native.configSummary(address());
  }

  @Override
  public synchronized void close() {
    handle.run();
  }
}
