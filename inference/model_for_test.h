// A model for tests: y = relu(x @ w + 1), x [n, 2] float32 with unknown n and
// w = [[1, -1], [2, 0.5]].
#ifndef PROA_INFERENCE_MODEL_FOR_TEST_H_
#define PROA_INFERENCE_MODEL_FOR_TEST_H_

#include <string>

namespace proa::inline v0::inference {

// Saves it under the test's own folder; its prefix.
std::string SavedModel();

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_MODEL_FOR_TEST_H_
