package com.baidu.paddle.inference;

/** A loaded model. One thread at a time; other threads take a clone, which shares the weights. */
public final class Predictor implements AutoCloseable {
  private final Native.Handle handle;
  private final String[] inputs;
  private final String[] outputs;

  /** Takes the config, which is closed afterwards. */
  public Predictor(Config config) {
    this(Native.predictorCreate(config.take()));
  }

  private Predictor(long address) {
    handle = new Native.Handle(address, Native::predictorDestroy);
    Native.CLEANER.register(this, handle);
    inputs = Native.predictorInputNames(address);
    outputs = Native.predictorOutputNames(address);
  }

  public static Predictor createPaddlePredictor(Config config) {
    return new Predictor(config);
  }

  /** "version: 0.1.0\n". */
  public static String version() {
    return Native.version();
  }

  private synchronized long address() {
    return handle.get("Predictor");
  }

  public synchronized Predictor clonePredictor() {
    return new Predictor(Native.predictorClone(address()));
  }

  public long getInputNum() {
    return inputs.length;
  }

  public long getOutputNum() {
    return outputs.length;
  }

  public String[] getInputNames() {
    return inputs.clone();
  }

  public String[] getOutputNames() {
    return outputs.clone();
  }

  public String getInputNameById(long id) {
    return inputs[Math.toIntExact(id)];
  }

  public String getOutputNameById(long id) {
    return outputs[Math.toIntExact(id)];
  }

  public synchronized Tensor getInputHandle(String name) {
    return new Tensor(Native.predictorHandle(address(), name, true));
  }

  public synchronized Tensor getOutputHandle(String name) {
    return new Tensor(Native.predictorHandle(address(), name, false));
  }

  public synchronized boolean run() {
    return Native.predictorRun(address());
  }

  public synchronized void clearIntermediateTensor() {
    Native.predictorClearIntermediateTensor(address());
  }

  /** How many bytes went back to the system. */
  public synchronized long tryShrinkMemory() {
    return Native.predictorTryShrinkMemory(address());
  }

  public void destroyNativePredictor() {
    close();
  }

  @Override
  public synchronized void close() {
    handle.run();
  }
}
