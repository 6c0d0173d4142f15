// The pass join_linears: which layers it joins, and that the elements stay.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/pass.h"
#include "jit/program.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

Tensor Numbers(const Shape& shape) {
  const Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = static_cast<float>(i * 7 % 11) - 5;
  return t;
}

// Weights [3, 2], [3, 4] and [3, 1] of the same rows, and their biases.
std::vector<Tensor> Parameters() {
  return {Numbers({3, 2}), Numbers({3, 4}), Numbers({3, 1}),
          Numbers({2}),    Numbers({4}),    Numbers({1})};
}

std::string Body(const std::string& rows) {
  const std::string y = "[" + rows;
  return "  %0 = input \"x\" : " + y +
         ", 3] float32\n"
         "  %1 = captured \"a\" : [3, 2] float32\n"
         "  %2 = captured \"b\" : [3, 4] float32\n"
         "  %3 = captured \"c\" : [3, 1] float32\n"
         "  %4 = captured \"p\" : [2] float32\n"
         "  %5 = captured \"q\" : [4] float32\n"
         "  %6 = captured \"r\" : [1] float32\n"
         "  %7 = linear(%0, %1, %4) : " +
         y + ", 2] float32\n  %8 = exp(%7) : " + y +
         ", 2] float32\n  %9 = linear(%0, %2, %5) : " + y +
         ", 4] float32\n  %10 = exp(%9) : " + y +
         ", 4] float32\n  %11 = linear(%0, %3, %6) : " + y +
         ", 1] float32\n  %12 = exp(%11) : " + y + ", 1] float32\n";
}

std::shared_ptr<Program> Parsed(const std::string& body,
                                const std::vector<Tensor>& captured) {
  return *ParseText("program {\n" + body + "}\n", captured);
}

std::string Joined(const std::shared_ptr<Program>& program,
                   const std::vector<ValueId>& outputs) {
  const std::string_view names[] = {"join_linears"};
  const std::string before = ToText(*program);
  const bool changed = RunPasses(program, outputs, names);
  EXPECT_TRUE(Verify(*program).ok());
  const std::string text = ToText(*program);
  EXPECT_EQ(changed, text != before);
  return changed ? text.substr(text.find("= captured \"r\"")) : "";
}

TEST(JoinLinears, LayersOfFewRowsAreOne) {
  const auto program = Parsed(Body("2, 3"), Parameters());
  const Tensor x = Numbers({2, 3, 3});
  const std::vector<ValueId> outputs = {8, 10, 12};
  const std::vector<std::pair<ValueId, Tensor>> feeds = {{0, x}};
  const std::vector<std::string_view> none;
  const auto want = Executor(*program, outputs, Changes::kAll, none).Run(feeds);
  EXPECT_EQ(Joined(program, outputs),
            "= captured \"r\" : [1] float32\n"
            "  %13 = concat([%1, %2, %3], axis=1) : [3, 7] float32\n"
            "  %14 = concat([%4, %5, %6], axis=0) : [7] float32\n"
            "  %15 = linear(%0, %13, %14) : [2, 3, 7] float32\n"
            "  (%7, %9, %11) = split(%15, sections=[2, 4, 1], axis=2) : [2, 3, "
            "2] float32, [2, 3, 4] float32, [2, 3, 1] float32\n"
            "  %8 = exp(%7) : [2, 3, 2] float32\n"
            "  %10 = exp(%9) : [2, 3, 4] float32\n"
            "  %12 = exp(%11) : [2, 3, 1] float32\n"
            "}\n");
  const auto got = Executor(*program, outputs, Changes::kAll, none).Run(feeds);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].shape(), want[i].shape());
    for (int64_t k = 0; k < want[i].numel(); ++k)
      EXPECT_EQ(got[i].data<float>()[k], want[i].data<float>()[k]);
  }
}

TEST(JoinLinears, NotOfManyRowsOrOfOpenSizes) {
  for (const std::string rows : {"?", "17", "6, 3", "?, 1"}) {
    EXPECT_EQ(Joined(Parsed(Body(rows), Parameters()), {8, 10, 12}), "")
        << rows;
  }
}

TEST(JoinLinears, NotWhereOthersNeedAPart) {
  // A result goes out; a weight does; one layer is without bias.
  EXPECT_NE(
      Joined(Parsed(Body("1"), Parameters()), {7, 10, 12}).find("[%2, %3]"),
      std::string::npos);
  EXPECT_NE(
      Joined(Parsed(Body("1"), Parameters()), {8, 10, 12, 1}).find("[%2, %3]"),
      std::string::npos);
  std::string body = Body("1");
  const auto at = body.find("%0, %1, %4");
  body.replace(at, 10, "%0, %1, None");
  EXPECT_NE(Joined(Parsed(body, Parameters()), {8, 10, 12}).find("[%2, %3]"),
            std::string::npos);
  // One weight is read twice.
  body = Body("1") + "  %13 = exp(%2) : [3, 4] float32\n";
  EXPECT_NE(
      Joined(Parsed(body, Parameters()), {8, 10, 12, 13}).find("[%1, %3]"),
      std::string::npos);
}

}  // namespace
}  // namespace proa::inline v0::jit
