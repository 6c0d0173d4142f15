package com.baidu.paddle.inference;

import java.io.File;
import java.lang.ref.Cleaner;

/** The C interface, function by function. Handles are addresses of its objects; 0 is none. */
final class Native {
  static final Cleaner CLEANER = Cleaner.create();

  static {
    // The folder of libproa_inference_jni.so, or java.library.path.
    String folder = System.getProperty("proa.inference.library.path");
    if (folder == null) {
      System.loadLibrary("proa_inference_jni");
    } else {
      System.load(new File(folder, System.mapLibraryName("proa_inference_jni")).getAbsolutePath());
    }
  }

  private Native() {}

  /** A native object that is destroyed by close() or, at the latest, with its owner. */
  static final class Handle implements Runnable {
    interface Destroyer {
      void destroy(long address);
    }

    private final Destroyer destroyer;
    private long address;

    Handle(long address, Destroyer destroyer) {
      this.address = address;
      this.destroyer = destroyer;
    }

    synchronized long get(String what) {
      if (address == 0) {
        throw new IllegalStateException(what + " is closed");
      }
      return address;
    }

    /** Gives the object away: it is not destroyed here any more. */
    synchronized long take(String what) {
      long taken = get(what);
      address = 0;
      return taken;
    }

    @Override
    public synchronized void run() {
      if (address != 0) {
        destroyer.destroy(address);
        address = 0;
      }
    }
  }

  static native long configCreate();

  static native void configDestroy(long config);

  static native void configSetModel(long config, String program, String parameters);

  static native String configProgFile(long config);

  static native String configParamsFile(long config);

  static native void configSetThreads(long config, int threads);

  static native int configThreads(long config);

  static native void configSwitchIrOptim(long config, boolean on);

  static native boolean configIrOptim(long config);

  static native void configSwitchIrDebug(long config, boolean on);

  static native void configEnableMemoryOptim(long config, boolean on);

  static native void configEnableMkldnnBfloat16(long config);

  static native boolean configMkldnnBfloat16Enabled(long config);

  static native void configEnableMKLDNN(long config);

  static native void configDisableGlogInfo(long config);

  static native void configEnableONNXRuntime(long config);

  static native void configDisableONNXRuntime(long config);

  static native void configDisableGpu(long config);

  static native void configEnableProfile(long config);

  static native boolean configMkldnnEnabled(long config);

  static native boolean configMemoryOptimEnabled(long config);

  static native boolean configGlogInfoDisabled(long config);

  static native boolean configONNXRuntimeEnabled(long config);

  static native boolean configUseGpu(long config);

  static native boolean configProfileEnabled(long config);

  static native void configSetONNXRuntimeLibrary(long config, String path);

  static native void configEnableUseGpu(long config, long megabytes, int device);

  static native void configSetOptimCacheDir(long config, String folder);

  static native void configDeletePass(long config, String name);

  static native void configInsertPass(long config, long index, String name);

  static native String[] configPasses(long config);

  static native String configSummary(long config);

  static native long predictorCreate(long config);

  static native long predictorClone(long predictor);

  static native void predictorDestroy(long predictor);

  static native String[] predictorInputNames(long predictor);

  static native String[] predictorOutputNames(long predictor);

  static native long predictorHandle(long predictor, String name, boolean input);

  static native boolean predictorRun(long predictor);

  static native void predictorClearIntermediateTensor(long predictor);

  static native long predictorTryShrinkMemory(long predictor);

  static native void tensorDestroy(long tensor);

  static native String tensorName(long tensor);

  static native int tensorType(long tensor);

  static native int[] tensorShape(long tensor);

  static native void tensorReshape(long tensor, int[] shape);

  static native void tensorFromFloats(long tensor, float[] data);

  static native void tensorFromInts(long tensor, int[] data);

  static native void tensorFromLongs(long tensor, long[] data);

  static native void tensorFromBytes(long tensor, byte[] data);

  static native void tensorToFloats(long tensor, float[] data);

  static native void tensorToInts(long tensor, int[] data);

  static native void tensorToLongs(long tensor, long[] data);

  static native void tensorToBytes(long tensor, byte[] data);

  static native String version();
}
