import com.baidu.paddle.inference.Config;
import com.baidu.paddle.inference.Predictor;
import com.baidu.paddle.inference.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

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
      float[] y = new float[x.length];
      out.copyToCpu(y);
      return y;
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    Config config = new Config(arguments[0], arguments[1]);
    config.setCpuMathLibraryNumThreads(1);
    config.enableMemoryOptim(true);
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
