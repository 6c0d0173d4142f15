// Names of PaddlePaddle's C++ inference library, so that programs written for
// it compile: namespace paddle_infer, and of 1.x AnalysisConfig and
// CreatePaddlePredictor with a warning of the compiler.
//
//   #include "inference/paddle_inference_api.h"
//   paddle_infer::Config config("net.pdmodel", "net.pdiparams");
//   auto predictor = paddle_infer::CreatePredictor(config);
#ifndef PROA_INFERENCE_PADDLE_INFERENCE_API_H_
#define PROA_INFERENCE_PADDLE_INFERENCE_API_H_

#include <memory>

#include "inference/cipher.h"
#include "inference/predictor.h"

namespace paddle_infer {

using namespace proa::inference;  // NOLINT: an alias could not be extended.

namespace services {
using PredictorPool = proa::inference::PredictorPool;
}  // namespace services

}  // namespace paddle_infer

namespace paddle {

using AnalysisConfig [[deprecated("use paddle_infer::Config")]] =
    proa::inference::Config;
using PaddlePredictor [[deprecated("use paddle_infer::Predictor")]] =
    proa::inference::Predictor;
using ZeroCopyTensor [[deprecated("use paddle_infer::Tensor")]] =
    proa::inference::Tensor;

[[deprecated("use paddle_infer::CreatePredictor")]] inline std::shared_ptr<
    proa::inference::Predictor>
CreatePaddlePredictor(const proa::inference::Config& config) {
  return proa::inference::CreatePredictor(config);
}

}  // namespace paddle

#endif  // PROA_INFERENCE_PADDLE_INFERENCE_API_H_
