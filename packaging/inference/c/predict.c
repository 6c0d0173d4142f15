/* Runs a model with one float32 input on ones, and prints what comes out.
 *
 *   predict net.pdmodel net.pdiparams [ROWS] */
#include <stdio.h>
#include <stdlib.h>

#include "pd_inference_api.h"

static int fail(const char* what) {
  fprintf(stderr, "predict: %s: %s\n", what, PD_LastErrorMessage());
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: predict PROGRAM PARAMETERS [ROWS]\n");
    return 2;
  }
  PD_Config* config = PD_ConfigCreate();
  PD_ConfigSetModel(config, argv[1], argv[2]);
  PD_ConfigSetCpuMathLibraryNumThreads(config, 1);
  PD_Predictor* predictor = PD_PredictorCreate(config); /* takes config */
  if (predictor == NULL) return fail("cannot load the model");

  PD_OneDimArrayCstr* names = PD_PredictorGetInputNames(predictor);
  PD_Tensor* input = PD_PredictorGetInputHandle(predictor, names->data[0]);
  PD_OneDimArrayInt32* shape = PD_TensorGetShape(input);
  size_t count = 1;
  for (size_t i = 0; i < shape->size; ++i) {
    if (shape->data[i] < 0) shape->data[i] = argc > 3 ? atoi(argv[3]) : 1;
    count *= (size_t)shape->data[i];
  }
  PD_TensorReshape(input, shape->size, shape->data);
  float* elements = malloc(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) elements[i] = 1;
  PD_ClearError();
  PD_TensorCopyFromCpuFloat(input, elements);
  if (PD_LastStatus() != PD_OK) return fail("cannot set the input");
  if (!PD_PredictorRun(predictor)) return fail("cannot run the model");

  PD_OneDimArrayCstr* results = PD_PredictorGetOutputNames(predictor);
  PD_Tensor* output = PD_PredictorGetOutputHandle(predictor, results->data[0]);
  int32_t size = 0;
  const float* values = PD_TensorDataFloat(output, NULL, &size);
  if (values == NULL) return fail("cannot read the output");
  for (int32_t i = 0; i < size; ++i) printf("%.6g\n", values[i]);

  free(elements);
  PD_TensorDestroy(output);
  PD_OneDimArrayCstrDestroy(results);
  PD_OneDimArrayInt32Destroy(shape);
  PD_TensorDestroy(input);
  PD_OneDimArrayCstrDestroy(names);
  PD_PredictorDestroy(predictor);
  return 0;
}
