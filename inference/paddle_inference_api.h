// Names of PaddlePaddle's C++ inference library, so that programs written for
// it compile: namespace paddle_infer, and those of 1.x in namespace paddle,
// with a warning of the compiler.
//
//   #include "inference/paddle_inference_api.h"
//   paddle_infer::Config config("net.pdmodel", "net.pdiparams");
//   auto predictor = paddle_infer::CreatePredictor(config);
#ifndef PROA_INFERENCE_PADDLE_INFERENCE_API_H_
#define PROA_INFERENCE_PADDLE_INFERENCE_API_H_

#include "inference/cipher.h"
#include "inference/paddle_1x_api.h"
#include "inference/predictor.h"

namespace paddle_infer {

using namespace proa::inference;  // NOLINT: an alias could not be extended.

namespace services {
using PredictorPool = proa::inference::PredictorPool;
}  // namespace services

namespace experimental {

class InternalUtils {
 public:
  // A layout of int8 of TensorRT: changes nothing, and says so.
  static void UpdateConfigInterleaved(Config* config, bool interleaved) {
    config->EnableTensorRtInterleaved(interleaved);
  }
};

}  // namespace experimental
namespace contrib = experimental;

}  // namespace paddle_infer

#endif  // PROA_INFERENCE_PADDLE_INFERENCE_API_H_
