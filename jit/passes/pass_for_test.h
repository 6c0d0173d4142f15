// Passes on programs as text; for tests.
#ifndef PROA_JIT_PASSES_PASS_FOR_TEST_H_
#define PROA_JIT_PASSES_PASS_FOR_TEST_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "jit/pass.h"
#include "jit/program.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// [C] tensors for captured values, one each.
inline std::vector<Tensor> Channels(int n) {
  std::vector<Tensor> out;
  for (int i = 0; i < n; ++i) {
    out.push_back(Tensor::Empty({4}, DType::kFloat32));
    for (int k = 0; k < 4; ++k) out.back().data<float>()[k] = 1;
  }
  return out;
}

// The lines of a program's body after a pass.
inline std::string After(std::string_view pass, const std::string& body,
                         std::vector<ValueId> outputs, int captured = 0) {
  const std::vector<Tensor> tensors = Channels(captured);
  const auto parsed = ParseText("program {\n" + body + "}\n", tensors);
  if (!parsed.ok()) return std::string(parsed.status().message());
  const std::shared_ptr<Program> program = *parsed;
  const std::string before = ToText(*program);
  const std::string_view names[] = {pass};
  const bool changed = RunPasses(program, outputs, names);
  const absl::Status s = Verify(*program);
  if (!s.ok()) return std::string(s.message());
  const std::string text = ToText(*program);
  EXPECT_EQ(changed, text != before);
  return text.substr(10, text.size() - 12);
}

// %0..%3 are mean, variance, weight and bias of a normalization of %4.
inline std::string WithNorm(const std::string& rest) {
  return "  %0 = captured \"m\" : [4] float32\n"
         "  %1 = captured \"v\" : [4] float32\n"
         "  %2 = captured \"w\" : [4] float32\n"
         "  %3 = captured \"b\" : [4] float32\n"
         "  %4 = input \"x\" : [?, 4, 8, 8] float32\n" +
         rest;
}

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PASSES_PASS_FOR_TEST_H_
