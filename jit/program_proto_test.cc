// Programs as untrusted bytes: what passes the checksum may still be malformed.
#include "jit/program_proto.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::jit {
namespace {

Module Example() {
  Module m;
  m.program = std::make_shared<Program>();
  const Tensor x = AddInput(m.program, "x", {kUnknownDim, 3}, DType::kFloat32);
  const Tensor w = Tensor::Scalar(2.5f);
  const std::vector<int64_t> axis = {1};
  const Tensor y = ops::sum(ops::multiply(x, w), axis, DType::kFloat64, true);
  const Tensor z = ops::reshape(
      y, ops::shape(y).is_symbolic() ? IntArray(ops::shape(y)) : IntArray{-1});
  m.inputs = {SymbolOf(x).id()};
  m.outputs = {SymbolOf(z).id()};
  m.output_names = {"z"};
  return m;
}

TEST(ProgramProto, RoundTripHasTheSameText) {
  const Module m = Example();
  const auto bytes = SerializeModule(m, 64, 4, 0);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto parsed = ParseModule(*bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ToText(*parsed->module.program), ToText(*m.program));
}

// Random changes of single bytes: the parser answers, and what it accepts can
// be verified and printed.
TEST(ProgramProto, MutationsNeverCrash) {
  const auto bytes = SerializeModule(Example(), 64, 4, 0);
  ASSERT_TRUE(bytes.ok());
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = *bytes;
    for (int k = 0; k <= round % 3; ++k) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    auto parsed = ParseModule(bad);
    if (!parsed.ok()) {
      EXPECT_FALSE(parsed.status().message().empty());
      continue;
    }
    for (const ParameterSlice& s : parsed->slices) {
      ValueInfo& v = parsed->module.program->value(s.id);
      if (v.meta.shape.numel() > 1000) continue;
      v.captured = Tensor::Empty(v.meta.shape, v.meta.dtype);
    }
    if (VerifyModule(parsed->module).ok()) {
      ++accepted;
      EXPECT_FALSE(ToText(*parsed->module.program).empty());
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(Text, ParsesBackAndNamesTheLineOfAMistake) {
  const std::string text =
      "program {\n"
      "  %0 = input \"x\" : [?, 3] float32\n"
      "  %1 = exp(%0) : [?, 3] float32\n"
      "}\n";
  const auto program = ParseText(text, {});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(ToText(**program), text);

  for (const auto& [from, to, says] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"exp(%0)", "exp(%7)", "line 3: %7 is not made yet"},
           {"exp(%0)", "explode(%0)", "line 3: no op is named 'explode'"},
           {"float32\n}", "float33\n}", "'float33' is no dtype"},
           {"%1 =", "%0 =", "made twice"},
           {"exp(%0)", "exp(%0", "expected ')'"}}) {
    std::string bad = text;
    bad.replace(bad.find(from), from.size(), to);
    const auto refused = ParseText(bad, {});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(std::string(refused.status().message()).find(says),
              std::string::npos)
        << refused.status();
  }
}

TEST(Executor, ReleasesAndSkips) {
  auto program = std::make_shared<Program>();
  const Tensor x = AddInput(program, "x", {2}, DType::kFloat32);
  const Tensor y = ops::exp(x);
  const Tensor unused = ops::log(x);
  const Executor executor(program, {SymbolOf(y).id()}, /*prune=*/true);
  Tensor feed = Tensor::Empty({2}, DType::kFloat32);
  feed.data<float>()[0] = feed.data<float>()[1] = 0;
  const std::pair<ValueId, Tensor> feeds[] = {{SymbolOf(x).id(), feed}};
  const std::vector<Tensor> out = executor.Run(feeds);
  EXPECT_EQ(out[0].data<float>()[1], 1.f);
  EXPECT_EQ(feed.impl()->use_count(),
            2);  // `feed` and `feeds`: the run kept nothing
  (void)unused;
}

}  // namespace
}  // namespace proa::inline v0::jit
