package com.baidu.paddle.inference;

/** An input or output of a {@link Predictor}. Arrays must have as many elements as the shape says. */
public final class Tensor implements AutoCloseable {
  private final Native.Handle handle;

  Tensor(long address) {
    handle = new Native.Handle(address, Native::tensorDestroy);
    Native.CLEANER.register(this, handle);
  }

  private synchronized long address() {
    return handle.get("Tensor");
  }

  public synchronized String getName() {
    return Native.tensorName(address());
  }

  /** A number of PD_DataType: 0 float, 1 int, 2 long, 3 and 4 byte. */
  public synchronized int getDataType() {
    return Native.tensorType(address());
  }

  /** Sizes that the model leaves open are -1 before reshape. */
  public synchronized int[] getShape() {
    return Native.tensorShape(address());
  }

  /** The number of elements. */
  public int getSize() {
    int size = 1;
    for (int n : getShape()) {
      size = Math.multiplyExact(size, n);
    }
    return size;
  }

  public synchronized void reshape(int[] shape) {
    Native.tensorReshape(address(), shape);
  }

  public void reshape(int length, int[] shape) {
    if (length != shape.length) {
      throw new IllegalArgumentException("reshape: length is " + length + ", the shape has " + shape.length + " sizes");
    }
    reshape(shape);
  }

  public synchronized void copyFromCpu(float[] data) {
    Native.tensorFromFloats(address(), data);
  }

  public synchronized void copyFromCpu(int[] data) {
    Native.tensorFromInts(address(), data);
  }

  public synchronized void copyFromCpu(long[] data) {
    Native.tensorFromLongs(address(), data);
  }

  /** Of int8 or uint8. */
  public synchronized void copyFromCpu(byte[] data) {
    Native.tensorFromBytes(address(), data);
  }

  public synchronized void copyToCpu(float[] data) {
    Native.tensorToFloats(address(), data);
  }

  public synchronized void copyToCpu(int[] data) {
    Native.tensorToInts(address(), data);
  }

  public synchronized void copyToCpu(long[] data) {
    Native.tensorToLongs(address(), data);
  }

  public synchronized void copyToCpu(byte[] data) {
    Native.tensorToBytes(address(), data);
  }

  public void destroyNativeTensor() {
    close();
  }

  @Override
  public synchronized void close() {
    handle.run();
  }
}
