// Runs a model with one float32 input on ones, and prints what comes out.
//
//   predict net.pdmodel net.pdiparams [ROWS]
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "inference/predictor.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: predict PROGRAM PARAMETERS [ROWS]\n");
    return 2;
  }
  try {
    proa::inference::Config config(argv[1], argv[2]);
    config.SetCpuMathLibraryNumThreads(1);
    const auto predictor = proa::inference::CreatePredictor(config);
    const auto input =
        predictor->GetInputHandle(predictor->GetInputNames().at(0));
    std::vector<int64_t> shape = input->shape();
    for (int64_t& n : shape)
      n = n < 0 ? (argc > 3 ? std::stoi(argv[3]) : 1) : n;
    input->Reshape(shape);
    const std::vector<float> ones(input->numel(), 1.f);
    input->CopyFromCpu(ones.data());
    predictor->Run();
    const auto output =
        predictor->GetOutputHandle(predictor->GetOutputNames().at(0));
    std::vector<float> values(output->numel());
    output->CopyToCpu(values.data());
    for (float v : values) std::printf("%.6g\n", v);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "predict: %s\n", e.what());
    return 1;
  }
  return 0;
}
