import com.baidu.paddle.inference.Config;
import com.baidu.paddle.inference.Predictor;
import com.baidu.paddle.inference.Tensor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** What archive_test.py asks of the Java interface: Check PROGRAM PARAMETERS, of a model x [n, 2] that doubles floats. */
public final class Check {
  private Check() {}

  private static void require(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }

  private static void refuses(Class<? extends Throwable> kind, String says, Runnable call) {
    try {
      call.run();
    } catch (Throwable e) {
      require(kind.isInstance(e), "not " + kind + " but " + e);
      require(e.getMessage().contains(says), "'" + e.getMessage() + "' does not say '" + says + "'");
      return;
    }
    throw new AssertionError("nothing is wrong with '" + says + "'");
  }

  private static float[] run(Predictor predictor, float... x) {
    try (Tensor in = predictor.getInputHandle("x")) {
      in.reshape(2, new int[] {x.length / 2, 2});
      in.copyFromCpu(x);
    }
    require(predictor.run(), "run");
    try (Tensor out = predictor.getOutputHandle(predictor.getOutputNameById(0))) {
      require(Arrays.equals(out.getShape(), new int[] {x.length / 2, 2}), "shape");
      float[] y = new float[out.getSize()];
      out.copyToCpu(y);
      return y;
    }
  }

  /** The names that the checks of settings ask about. */
  private static final Set<String> ASKED = new TreeSet<>();

  private static boolean asked(String... methods) {
    ASKED.addAll(Arrays.asList(methods));
    return true;
  }

  /** Each public method of Config: what it sets is seen in the summary or in what answers. */
  private static void settings(String program, String parameters) {
    Config config = new Config();
    asked("setCppModel", "setCppModelDir", "getProgFile", "getParamsFile", "summary", "close", "allPasses");
    config.setCppModelDir("folder");
    require(config.summary().contains("folder"), "folder");
    asked("getCppModelDir", "getCppParamsFile", "getGpuDeviceId", "getMemoryPoolInitSizeMb");
    asked("getFractionOfGpuMemoryForPool");
    require(config.getCppModelDir().equals("folder"), "getCppModelDir");
    require(config.getGpuDeviceId() == 0 && config.getMemoryPoolInitSizeMb() == 0, "no GPU");
    require(config.getFractionOfGpuMemoryForPool() == 0, "no memory of a GPU");
    config.setCppModel(program, parameters);
    require(config.getProgFile().equals(program) && config.getParamsFile().equals(parameters), "files");
    require(config.getCppParamsFile().equals(parameters), "getCppParamsFile");
    asked("setCpuMathLibraryNumThreads", "getCpuMathLibraryNumThreads");
    config.setCpuMathLibraryNumThreads(3);
    require(config.getCpuMathLibraryNumThreads() == 3, "threads");
    asked("switchIrOptim", "isIrOptim", "switchIrDebug", "setOptimCacheDir", "deletePass", "insertPass");
    config.switchIrOptim(false);
    config.switchIrDebug(true);
    config.setOptimCacheDir("here");
    String text = config.summary();
    require(!config.isIrOptim() && text.contains("ir_debug            true"), "debug");
    require(text.contains("optim_cache_dir     here"), "cache");
    asked("enableMkldnnBfloat16", "isMkldnnBfloat16Enabled", "enableMKLDNN", "mkldnnEnabled");
    config.enableMKLDNN();
    require(config.mkldnnEnabled() && !config.isMkldnnBfloat16Enabled(), "oneDNN");
    config.enableMkldnnBfloat16();
    require(config.isMkldnnBfloat16Enabled(), "bfloat16");
    asked("enableMemoryOptim", "isMemoryOptimEnabled");
    config.enableMemoryOptim(false);
    require(!config.isMemoryOptimEnabled(), "memory");
    asked("enableONNXRuntime", "disableONNXRuntime", "isONNXRuntimeEnabled", "setONNXRuntimeLibrary");
    config.setONNXRuntimeLibrary("/nowhere/lib.so");
    require(!config.isONNXRuntimeEnabled(), "ONNX Runtime");
    config.enableONNXRuntime();
    require(config.isONNXRuntimeEnabled() && config.summary().contains("ONNX Runtime"), "ONNX Runtime");
    config.disableONNXRuntime();
    require(!config.isONNXRuntimeEnabled(), "ONNX Runtime");
    asked("enableUseGpu", "disableGpu", "isUseGpu", "enableProfile", "isProfileEnabled");
    require(!config.summary().contains("changes nothing"), "ignored");
    config.enableUseGpu(100, 0);
    config.enableProfile();
    config.disableGpu();
    text = config.summary();
    require(text.contains("EnableUseGpu changes nothing"), "gpu");
    require(text.contains("EnableProfile changes nothing"), "profile");
    require(!config.isUseGpu() && !config.isProfileEnabled(), "answers");
    asked("disableGlogInfo", "isGlogInfoDisabled");
    require(!config.isGlogInfoDisabled(), "glog");
    config.disableGlogInfo();
    require(config.isGlogInfoDisabled(), "glog");
    config.close();
    for (Method method : Config.class.getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers())) {
        require(ASKED.contains(method.getName()), "nothing asks about Config." + method.getName());
      }
    }
  }

  /** A file of ONNX, by the library of ONNX Runtime. */
  private static void byOnnxRuntime(String library, String model) {
    Config config = new Config(model, "");
    config.enableONNXRuntime();
    refuses(UnsupportedOperationException.class, "PROA_ONNXRUNTIME_LIBRARY", () -> new Predictor(config));
    Config other = new Config(model, "");
    other.enableONNXRuntime();
    other.setONNXRuntimeLibrary(library);
    Predictor predictor = new Predictor(other);
    require(Arrays.equals(run(predictor, 1, 2), new float[] {2, 4}), "result");
    System.out.println("java: by ONNX Runtime");
  }

  public static void main(String[] arguments) throws InterruptedException {
    if (arguments[1].endsWith(".onnx")) {
      byOnnxRuntime(arguments[0], arguments[1]);
      return;
    }
    settings(arguments[0], arguments[1]);
    Config config = new Config(arguments[0], arguments[1]);
    config.setCpuMathLibraryNumThreads(1);
    config.enableMemoryOptim(true);
    config.enableUseGpu(100, 0);
    config.enableProfile();
    require(config.getCpuMathLibraryNumThreads() == 1 && config.isIrOptim(), "settings");
    require(!config.isMkldnnBfloat16Enabled(), "bfloat16");
    config.enableMkldnnBfloat16();
    require(config.isMkldnnBfloat16Enabled(), "bfloat16");
    require(config.summary().contains("passes") && config.getProgFile().equals(arguments[0]), "summary");
    List<String> passes = new ArrayList<>(Arrays.asList(config.allPasses()));
    config.deletePass(passes.get(0));
    config.insertPass(0, passes.get(0));
    require(passes.equals(Arrays.asList(config.allPasses())), "passes");
    refuses(IllegalArgumentException.class, "no pass is named", () -> config.insertPass(0, "fancy"));
    refuses(NullPointerException.class, "null", () -> config.deletePass(null));
    Predictor predictor = Predictor.createPaddlePredictor(config);
    refuses(IllegalStateException.class, "Config is closed", config::summary);
    refuses(IllegalStateException.class, "Config is closed", () -> new Predictor(config));
    require(Predictor.version().startsWith("version: "), "version");
    require(predictor.getInputNum() == 1 && predictor.getOutputNum() == 1, "names");
    require(Arrays.equals(run(predictor, 1, 2), new float[] {2, 4}), "result");
    require(Arrays.equals(run(predictor), new float[] {}), "no rows");

    refuses(IllegalArgumentException.class, "/nowhere", () -> new Predictor(new Config("/nowhere.pdmodel", "")));
    refuses(IllegalArgumentException.class, "no input is named 'z'", () -> predictor.getInputHandle("z"));
    Tensor in = predictor.getInputHandle("x");
    in.reshape(new int[] {1, 2});
    refuses(IllegalArgumentException.class, "has 3 elements, the tensor 2", () -> in.copyFromCpu(new float[3]));
    refuses(IllegalArgumentException.class, "is float32, not int32", () -> in.copyFromCpu(new int[2]));
    refuses(IllegalArgumentException.class, "is float32, not int64", () -> in.copyToCpu(new long[2]));
    refuses(IllegalArgumentException.class, "takes shape", () -> in.reshape(new int[] {1, 3}));
    refuses(IllegalArgumentException.class, "negative", () -> in.reshape(new int[] {-1, 2}));
    refuses(NullPointerException.class, "null", () -> in.copyFromCpu((float[]) null));
    refuses(NullPointerException.class, "null", () -> in.reshape(null));
    in.close();
    in.close();
    refuses(IllegalStateException.class, "Tensor is closed", in::getShape);

    // A clone for each thread.
    List<Thread> threads = new ArrayList<>();
    List<String> wrong = new ArrayList<>();
    for (int i = 0; i < 8; ++i) {
      float value = i;
      Predictor own = predictor.clonePredictor();
      threads.add(
          new Thread(
              () -> {
                for (int k = 0; k < 100; ++k) {
                  if (run(own, value, k)[0] != 2 * value) {
                    synchronized (wrong) {
                      wrong.add("thread " + value);
                    }
                  }
                }
                own.close();
              }));
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    require(wrong.isEmpty(), wrong.toString());
    // What nobody closes goes with its owner.
    for (int i = 0; i < 1000; ++i) {
      predictor.clonePredictor().getInputHandle("x");
    }
    System.gc();
    predictor.tryShrinkMemory();
    require(Arrays.equals(run(predictor, 3, 4), new float[] {6, 8}), "after all that");
    predictor.close();
    refuses(IllegalStateException.class, "Predictor is closed", predictor::run);
    System.out.println("java: all right");
  }
}
