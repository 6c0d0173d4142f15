// Collectives of programs: where they begin, and what they run beside.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jit/executor.h"
#include "jit/pass.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "ops/collective/collective.h"
#include "ops/observers.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

Tensor Four(float value) {
  Tensor t = Tensor::Empty({4}, DType::kFloat32);
  for (int i = 0; i < 4; ++i) t.data<float>()[i] = value;
  return t;
}

std::shared_ptr<Program> Parsed(const std::string& body, int captured) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < captured; ++i) tensors.push_back(Four(1));
  auto parsed = ParseText("program {\n" + body + "}\n", tensors);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.status().message();
    return nullptr;
  }
  return *parsed;
}

// Twice `in`, when it is waited for.
class Carrier final : public CollectiveCarrier {
 public:
  struct Late final : LateCollective {
    Late(Carrier* c, const CollectiveCall& call) : carrier(c), call(call) {}
    void Wait() override {
      carrier->log += "wait ";
      carrier->Double(call);
      if (carrier->fails) {
        Fail(absl::StatusCode::kUnavailable, "rank 3 died");
      }
    }
    Carrier* const carrier;
    const CollectiveCall call;
  };
  void Run(const CollectiveCall& call) override {
    log += "run ";
    Double(call);
  }
  std::shared_ptr<LateCollective> Begin(const CollectiveCall& call) override {
    log += "begin ";
    return std::make_shared<Late>(this, call);
  }
  void Double(const CollectiveCall& call) {
    for (int i = 0; i < 4; ++i) {
      call.out.data<float>()[i] = 2 * call.in.data<float>()[i];
    }
  }

  std::string log;
  bool fails = false;
};

class ExchangeTest : public testing::Test {
 protected:
  void SetUp() override { InstallCollectiveCarrier(&carrier_); }
  void TearDown() override { InstallCollectiveCarrier(nullptr); }
  std::vector<float> Run(const Program& program, std::vector<ValueId> fetches,
                         ValueId input, float value) {
    const Executor executor(program, std::move(fetches));
    std::vector<float> out;
    for (const Tensor& t : executor.Run({{{input, Four(value)}}})) {
      out.push_back(t.data<float>()[0]);
    }
    return out;
  }
  Carrier carrier_;
};

// Backward of two layers, then the exchanges, as optimizers append them.
constexpr char kHead[] =
    "  %0 = captured \"turn\" : [4] float32\n"
    "  %1 = input \"x\" : [4] float32\n"
    "  %2 = exp(%1) : [4] float32\n";
constexpr char kTail[] =
    "  %3 = sin(%2) : [4] float32\n"
    "  %4 = cos(%3) : [4] float32\n"
    "  %5 = square(%2) : [4] float32\n"
    "  %6 = all_reduce_in_turn_(%5, %0, group=0, reduce=\"sum\") : [4] "
    "float32\n"
    "  %7 = abs(%6) : [4] float32\n"
    "  %8 = all_reduce_in_turn_(%4, %0, group=0, reduce=\"sum\") : [4] "
    "float32\n"
    "  %9 = abs(%8) : [4] float32\n";

TEST_F(ExchangeTest, MovesForward) {
  const auto program = Parsed(std::string(kHead) + kTail, 1);
  ASSERT_NE(program, nullptr);
  const std::string_view names[] = {"early_exchange"};
  const std::vector<ValueId> outputs = {7, 9};
  EXPECT_TRUE(RunPasses(program, outputs, names));
  EXPECT_TRUE(Verify(*program).ok());
  const std::string text = ToText(*program);
  const auto at = [&](const char* what) { return text.find(what); };
  EXPECT_LT(at("%2 = exp"), at("%5 = square")) << text;
  EXPECT_LT(at("%5 = square"), at("%6 = all_reduce")) << text;
  EXPECT_LT(at("%6 = all_reduce"), at("%3 = sin")) << text;
  EXPECT_LT(at("%6 = all_reduce"), at("%8 = all_reduce")) << text;
  EXPECT_LT(at("%8 = all_reduce"), at("%7 = abs")) << text;
  EXPECT_FALSE(RunPasses(program, outputs, names));  // once is enough
}

// What is for no exchange, as the mean of losses that the program gives, stands
// before all that is for one.
TEST_F(ExchangeTest, MovesForwardPastWhatIsForOthers) {
  const auto program = Parsed(
      std::string(kHead) +
          "  %3 = abs(%2) : [4] float32\n"
          "  %4 = square(%2) : [4] float32\n"
          "  %5 = sin(%2) : [4] float32\n"
          "  %6 = cos(%5) : [4] float32\n"
          "  %7 = sqrt(%4) : [4] float32\n"
          "  %8 = all_reduce_in_turn_(%7, %0, group=0, reduce=\"sum\") : [4] "
          "float32\n"
          "  %9 = all_reduce_in_turn_(%6, %0, group=0, reduce=\"sum\") : [4] "
          "float32\n"
          "  %10 = add(%8, %9) : [4] float32\n",
      1);
  ASSERT_NE(program, nullptr);
  const std::string_view names[] = {"early_exchange"};
  const std::vector<ValueId> outputs = {3, 10};
  EXPECT_TRUE(RunPasses(program, outputs, names));
  EXPECT_TRUE(Verify(*program).ok());
  const std::string text = ToText(*program);
  const auto at = [&](const char* what) { return text.find(what); };
  EXPECT_LT(at("%7 = sqrt"), at("%8 = all_reduce")) << text;
  EXPECT_LT(at("%8 = all_reduce"), at("%5 = sin")) << text;
  EXPECT_LT(at("%6 = cos"), at("%9 = all_reduce")) << text;
  EXPECT_LT(at("%9 = all_reduce"), at("%3 = abs")) << text;
  EXPECT_FALSE(RunPasses(program, outputs, names));  // once is enough
}

// What a region of fused operations gives may share memory with anything, so
// that nothing that changes a tensor passes who reads it.
TEST_F(ExchangeTest, MovesForwardPastReadersOfFusedOperations) {
  const auto program = Parsed(
      "  %0 = captured \"turn\" : [4] float32\n"
      "  %1 = input \"x\" : [1024, 1024] float32\n"
      "  %2 = exp(%1) : [1024, 1024] float32\n"
      "  %3 = sin(%2) : [1024, 1024] float32\n"
      "  %4 = mean(%3, axis=[1], keepdim=false) : [1024] float32\n"
      "  %5 = mean(%3, axis=[0], keepdim=false) : [1024] float32\n"
      "  %6 = all_reduce_in_turn_(%4, %0, group=0, reduce=\"sum\") : [1024] "
      "float32\n"
      "  %7 = all_reduce_in_turn_(%5, %0, group=0, reduce=\"sum\") : [1024] "
      "float32\n",
      1);
  ASSERT_NE(program, nullptr);
  const std::vector<ValueId> outputs = {6, 7};
  EXPECT_TRUE(RunPasses(program, outputs, DefaultPasses()));
  EXPECT_TRUE(Verify(*program).ok());
  const std::string text = ToText(*program);
  ASSERT_NE(text.find("pointwise("), std::string::npos) << text;
  EXPECT_LT(text.find("%6 = all_reduce"), text.find("%5 = mean")) << text;
}

TEST_F(ExchangeTest, NotBeforeWhatChangesItsInput) {
  const auto program = Parsed(
      "  %0 = captured \"turn\" : [4] float32\n"
      "  %1 = input \"x\" : [4] float32\n"
      "  %2 = captured \"sum\" : [4] float32\n"
      "  %3 = exp(%1) : [4] float32\n"
      "  store_(%2, %3)\n"
      "  %4 = sin(%3) : [4] float32\n"
      "  %5 = all_reduce_in_turn_(%2, %0, group=0, reduce=\"sum\") : [4] "
      "float32\n"
      "  %6 = add(%5, %4) : [4] float32\n",
      2);
  ASSERT_NE(program, nullptr);
  const std::string_view names[] = {"early_exchange"};
  const std::vector<ValueId> outputs = {6};
  RunPasses(program, outputs, names);
  const std::string text = ToText(*program);
  EXPECT_LT(text.find("store_"), text.find("all_reduce")) << text;
  EXPECT_LT(text.find("all_reduce"), text.find("sin")) << text;
}

TEST_F(ExchangeTest, RunsBesideWhatFollows) {
  const auto program = Parsed(std::string(kHead) + kTail, 1);
  ASSERT_NE(program, nullptr);
  const auto found = Run(*program, {7, 9}, 1, 0);  // exp(0) = 1
  EXPECT_FLOAT_EQ(found[0], 2.f);
  EXPECT_FLOAT_EQ(found[1], 2.f * std::cos(std::sin(1.f)));
  // Both have begun before either is waited for.
  EXPECT_EQ(carrier_.log, "begin begin wait wait ");
}

TEST_F(ExchangeTest, WhatIsAskedForAtOnceIsNotBegun) {
  const auto program = Parsed(std::string(kHead) +
                                  "  %3 = all_reduce_in_turn_(%2, %0, group=0, "
                                  "reduce=\"sum\") : [4] float32\n"
                                  "  %4 = exp(%3) : [4] float32\n",
                              1);
  ASSERT_NE(program, nullptr);
  EXPECT_FLOAT_EQ(Run(*program, {4}, 1, 0)[0], std::exp(2.f));
  EXPECT_EQ(carrier_.log, "run ");
}

// What an operation changes has been read before.
TEST_F(ExchangeTest, ChangesWait) {
  const auto program = Parsed(
      "  %0 = captured \"turn\" : [4] float32\n"
      "  %1 = input \"x\" : [4] float32\n"
      "  %2 = captured \"sum\" : [4] float32\n"
      "  %3 = all_reduce_in_turn_(%2, %0, group=0, reduce=\"sum\") : [4] "
      "float32\n"
      "  %4 = exp(%1) : [4] float32\n"
      "  store_(%2, %4)\n"
      "  %5 = add(%3, %4) : [4] float32\n",
      2);
  ASSERT_NE(program, nullptr);
  // Twice the sum of before, which is 1, and exp(1).
  EXPECT_FLOAT_EQ(Run(*program, {5}, 1, 1)[0], 2.f + std::exp(1.f));
  EXPECT_EQ(carrier_.log, "begin wait ");
}

// The check for NaN reads what each operation gave.
TEST_F(ExchangeTest, NothingOnlyBeginsWhereResultsAreRead) {
  const auto program = Parsed(std::string(kHead) + kTail, 1);
  ASSERT_NE(program, nullptr);
  static std::vector<float> read;
  read.clear();
  InstallObserver(Observer::kNumericCheck, [](ObservedCall& call) {
    call.Proceed();
    if (std::string_view(call.op.name) != "all_reduce_in_turn_") return;
    read.push_back(std::get<Tensor>(call.results[0]).data<float>()[0]);
  });
  SetObserver(Observer::kNumericCheck, true);
  const auto found = Run(*program, {7, 9}, 1, 0);
  SetObserver(Observer::kNumericCheck, false);
  EXPECT_EQ(read, (std::vector<float>{std::abs(found[0]), found[1]}));
  EXPECT_EQ(carrier_.log, "run run ");
}

TEST_F(ExchangeTest, ErrorsNameTheCollective) {
  const auto program = Parsed(std::string(kHead) + kTail, 1);
  ASSERT_NE(program, nullptr);
  carrier_.fails = true;
  try {
    Run(*program, {7, 9}, 1, 0);
    FAIL();
  } catch (const Error& e) {
    const std::string said = e.what();
    EXPECT_NE(said.find("rank 3 died\n  in the program: "), std::string::npos);
    EXPECT_NE(said.find("%6 = all_reduce_in_turn_"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
