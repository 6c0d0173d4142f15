import com.baidu.paddle.inference.Config;
import com.baidu.paddle.inference.Predictor;
import com.baidu.paddle.inference.Tensor;
import java.util.Arrays;

/** Runs a model with one float input on ones, and prints what comes out: Predict PROGRAM PARAMETERS [ROWS]. */
public final class Predict {
  private Predict() {}

  public static void main(String[] arguments) {
    if (arguments.length < 2) {
      System.err.println("usage: Predict PROGRAM PARAMETERS [ROWS]");
      System.exit(2);
    }
    int rows = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1;
    try (Predictor predictor = Predictor.createPaddlePredictor(new Config(arguments[0], arguments[1]));
        Tensor input = predictor.getInputHandle(predictor.getInputNameById(0))) {
      int[] shape = input.getShape();
      int count = 1;
      for (int i = 0; i < shape.length; ++i) {
        shape[i] = shape[i] < 0 ? rows : shape[i];
        count *= shape[i];
      }
      input.reshape(shape);
      float[] ones = new float[count];
      Arrays.fill(ones, 1);
      input.copyFromCpu(ones);
      predictor.run();
      try (Tensor output = predictor.getOutputHandle(predictor.getOutputNameById(0))) {
        int size = 1;
        for (int n : output.getShape()) {
          size *= n;
        }
        float[] values = new float[size];
        output.copyToCpu(values);
        for (float value : values) {
          System.out.println(value);
        }
      }
    } catch (IllegalArgumentException | IllegalStateException e) {
      System.err.println("Predict: " + e.getMessage());
      System.exit(1);
    }
  }
}
