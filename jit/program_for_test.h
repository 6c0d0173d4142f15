// Programs from text, and tensors of few elements, for the tests of this room.
#ifndef PROA_JIT_PROGRAM_FOR_TEST_H_
#define PROA_JIT_PROGRAM_FOR_TEST_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/program.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// `body`: the lines between `program {` and `}`.
inline std::shared_ptr<Program> Parse(const std::string& body,
                                      std::vector<Tensor> captured = {}) {
  auto parsed = ParseText("program {\n" + body + "}\n", captured);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *parsed;
}

inline Tensor Floats(std::initializer_list<float> elements) {
  Tensor t =
      Tensor::Empty({static_cast<int64_t>(elements.size())}, DType::kFloat32);
  std::copy(elements.begin(), elements.end(), t.data<float>());
  return t;
}

inline std::vector<float> Elements(const Tensor& t) {
  const float* p = t.data<float>();
  return {p, p + t.numel()};
}

// What some symbolic tensors are, for these feeds.
inline std::vector<Tensor> RunProgram(
    const std::vector<Tensor>& fetches,
    const std::vector<std::pair<ValueId, Tensor>>& feeds) {
  std::vector<ValueId> ids;
  for (const Tensor& t : fetches) ids.push_back(SymbolOf(t).id());
  return Executor(*SymbolOf(fetches[0]).program(), ids).Run(feeds);
}

// A program with a `cond` whose first region makes a value of its own.
inline constexpr char kNested[] =
    "  %0 = input \"p\" : [] bool\n"
    "  %1 = input \"x\" : [4] float32\n"
    "  %2 = exp(%1) : [4] float32\n"
    "  (%5) = cond(%0) {\n"
    "    %3 = add(%2, %2) : [4] float32\n"
    "    return %3\n"
    "  } {\n"
    "    %4 = sin(%1) : [4] float32\n"
    "    return %2\n"
    "  } : [4] float32\n";

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PROGRAM_FOR_TEST_H_
