#include "jit/prune.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "ops/creation/store_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(Prune, LeavesWhatOutputsNeedUnderNewNumbers) {
  const Tensor w = Floats({1, 2});
  Module module;
  module.program = Parse(
      "  %0 = input \"unused\" : [2] float32\n"
      "  %1 = input \"label\" : [2] float32\n"
      "  %2 = input \"x\" : [2] float32\n"
      "  %3 = captured \"w\" : [2] float32\n"
      "  %4 = exp(%2) : [2] float32\n"
      "  %5 = add(%4, %1) : [2] float32\n"
      "  store_(%3, %5)\n"
      "  %6 = add(%4, %3) : [2] float32\n",
      {w});
  module.inputs = {2, 0};
  module.outputs = {module.program->block().operations.back().results[0][0]};
  module.output_names = {"y"};
  module.context = {{"autocast", "O1 bfloat16"}};
  const Module pruned = Prune(module);
  EXPECT_EQ(ToText(*pruned.program),
            "program {\n"
            "  %0 = input \"x\" : [2] float32\n"
            "  %1 = input \"unused\" : [2] float32\n"
            "  %2 = captured \"w\" : [2] float32\n"
            "  %3 = exp(%0) : [2] float32\n"
            "  %4 = add(%3, %2) : [2] float32\n"
            "}\n");
  EXPECT_EQ(pruned.inputs, std::vector<ValueId>({0, 1}));
  EXPECT_EQ(pruned.outputs, std::vector<ValueId>({4}));
  EXPECT_EQ(pruned.output_names, module.output_names);
  EXPECT_EQ(pruned.context, module.context);
  EXPECT_EQ(pruned.program->FindCaptured(w), 2);
}

TEST(Prune, AnOutputNeedsItsInputs) {
  Module module;
  module.program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n");
  module.outputs = {1};
  module.output_names = {"y"};
  try {
    Prune(module);
    FAIL() << "an input that nobody names was dropped";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'x'"), std::string::npos) << e.what();
  }
}

TEST(Prune, KeepsChangesOfWhatIsRead) {
  const Tensor count = Floats({0, 0}), unread = Floats({0, 0});
  const auto program = std::make_shared<Program>();
  Tensor out;
  {
    const StaticModeScope scope(program);
    ops::store_(count, ops::add(count, Floats({1, 1})));
    ops::store_(unread, count);
    out = ops::add(count, Floats({0, 0}));
  }
  Module module;
  module.program = program;
  module.outputs = {SymbolOf(out).id()};
  module.output_names = {"out"};
  const Module kept = Prune(module, Changes::kRead);
  const Executor executor(*kept.program, kept.outputs);
  for (const float want : {1, 2, 3}) {
    EXPECT_EQ(executor.Run({})[0].data<float>()[0], want);
  }
  EXPECT_EQ(unread.data<float>()[0], 0);
  const Module none = Prune(module, Changes::kNone);
  EXPECT_EQ(none.program->block().operations.size(), 1u);
}

}  // namespace
}  // namespace proa::inline v0::jit
