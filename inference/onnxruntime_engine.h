// Files of ONNX, run by ONNX Runtime, whose library is loaded when it is asked
// for; of this room.
#ifndef PROA_INFERENCE_ONNXRUNTIME_ENGINE_H_
#define PROA_INFERENCE_ONNXRUNTIME_ENGINE_H_

#include <memory>
#include <string>

#include "inference/engine.h"

namespace proa::inline v0::inference {

struct OnnxRuntimeSettings {
  // Of the engine; empty for the one that the environment variable
  // PROA_ONNXRUNTIME_LIBRARY names, or the system's.
  std::string library;
  int threads = 0;        // for one operator; 0 for the engine's choice
  bool optimized = true;  // whether the engine changes the graph first
};

// `model` is the path of a file, or its contents. Throws Error where there is
// no such library, naming what was tried; where the model is none of ONNX, or
// ONNX Runtime refuses it.
std::shared_ptr<const Engine> OnnxRuntimeEngineOfFile(
    const std::string& model, const OnnxRuntimeSettings& settings);
std::shared_ptr<const Engine> OnnxRuntimeEngineOfBytes(
    const std::string& model, const OnnxRuntimeSettings& settings);

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_ONNXRUNTIME_ENGINE_H_
