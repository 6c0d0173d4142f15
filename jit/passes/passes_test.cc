// Each pass on small programs, before and after as text.
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "jit/pass.h"
#include "jit/passes/pass_for_test.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

TEST(Passes, AreRegistered) {
  for (const std::string_view name : DefaultPasses()) {
    EXPECT_NE(FindPass(name), nullptr) << name;
  }
  EXPECT_GE(AllPasses().size(), 6u);
  EXPECT_EQ(FindPass("nothing"), nullptr);
  const auto program = std::make_shared<Program>();
  const std::string_view names[] = {"nothing"};
  EXPECT_THROW(RunPasses(program, {}, names), Error);
}

// Every pass leaves a program alone in which it has nothing to do.
TEST(Passes, ChangeNothingWithoutReason) {
  const std::string body =
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n";
  for (const Pass& pass : AllPasses()) {
    EXPECT_EQ(After(pass.name, body, {1}), body) << pass.name;
  }
}

TEST(DeadCode, KeepsOutputsAndChanges) {
  const std::string head =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = input \"x\" : [4] float32\n";
  EXPECT_EQ(After("dead_code",
                  head + "  %2 = exp(%1) : [4] float32\n"
                         "  %3 = log(%2) : [4] float32\n"
                         "  %4 = sin(%2) : [4] float32\n"
                         "  %5 = cos(%1) : [4] float32\n"
                         "  store_(%0, %5)\n",
                  {4}, 1),
            head +
                "  %2 = exp(%1) : [4] float32\n"
                "  %4 = sin(%2) : [4] float32\n"
                "  %5 = cos(%1) : [4] float32\n"
                "  store_(%0, %5)\n");
}

TEST(DeadCode, LooksIntoRegions) {
  const std::string head =
      "  %0 = input \"p\" : [] bool\n"
      "  %1 = input \"x\" : [4] float32\n";
  EXPECT_EQ(After("dead_code",
                  head + "  (%4) = cond(%0) {\n"
                         "    %2 = exp(%1) : [4] float32\n"
                         "    %3 = log(%1) : [4] float32\n"
                         "    return %2\n"
                         "  } {\n"
                         "    return %1\n"
                         "  } : [4] float32\n",
                  {4}),
            head +
                "  (%4) = cond(%0) {\n"
                "    %2 = exp(%1) : [4] float32\n"
                "    return %2\n"
                "  } {\n"
                "    return %1\n"
                "  } : [4] float32\n");
}

TEST(Identities, UseTheOperand) {
  const std::string head =
      "  %0 = input \"x\" : [2, 3] float32\n"
      "  %1 = exp(%0) : [2, 3] float32\n";
  EXPECT_EQ(
      After("identities",
            head + "  %2, %3 = dropout(%1, p=0.5, training=false, "
                   "mode=\"upscale_in_train\") : [2, 3] float32, [2, 3] bool\n"
                   "  %4 = cast(%2, dtype=float32) : [2, 3] float32\n"
                   "  %5 = reshape(%4, shape=[2, 3]) : [2, 3] float32\n"
                   "  %6 = reshape(%5, shape=[3, 2]) : [3, 2] float32\n",
            {6}),
      head + "  %6 = reshape(%1, shape=[3, 2]) : [3, 2] float32\n");
}

TEST(WithoutChecks, UsesWhatWasChecked) {
  const std::string head = "  %0 = input \"x\" : [2] float32\n";
  const std::string check =
      "  %1 = isfinite(%0) : [2] bool\n"
      "  %2 = require(%0, %1, message=\"f: not finite\", [%0]) : [2] float32\n";
  const std::string last = "  %3 = exp(%2) : [2] float32\n";
  EXPECT_EQ(After("without_checks", head + check + last, {3}),
            head + check + "  %3 = exp(%0) : [2] float32\n");
  // An output keeps its number, and so its check.
  EXPECT_EQ(After("without_checks", head + check, {2}), head + check);
  EXPECT_EQ(After("dead_code", head + check + last, {3}), head + check + last);
}

TEST(Identities, KeepWhatIsNone) {
  for (const std::string& body : std::vector<std::string>{
           // Draws; scales.
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=true, "
           "mode=\"upscale_in_train\") : [2] float32, [2] bool\n"
           "  %3 = exp(%1) : [2] float32\n",
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=false, "
           "mode=\"downscale_in_infer\") : [2] float32, [2] bool\n"
           "  %3 = exp(%1) : [2] float32\n",
           // The mask is used.
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=false, "
           "mode=\"upscale_in_train\") : [2] float32, [2] bool\n"
           "  %3 = where(%2, %1, %0) : [2] float32\n",
           // The copy would be a view of what the caller owns.
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=false, "
           "mode=\"upscale_in_train\") : [2] float32, [2] bool\n"
           "  %3 = reshape(%1, shape=[1, 2]) : [1, 2] float32\n"}) {
    EXPECT_EQ(After("identities", body, {3}), body);
  }
}

TEST(Identities, SeeChanges) {
  const std::string body =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1, %2 = dropout(%0, p=0.5, training=false, "
      "mode=\"upscale_in_train\") : [4] float32, [4] bool\n"
      "  %3 = exp(%0) : [4] float32\n"
      "  store_(%0, %3)\n"
      "  %4 = exp(%1) : [4] float32\n";
  EXPECT_EQ(After("identities", body, {4}, 1), body);
}

TEST(CommonSubexpressions, AreMadeOnce) {
  const std::string head =
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n";
  EXPECT_EQ(After("common_subexpressions",
                  head + "  %2 = exp(%0) : [2] float32\n"
                         "  %3 = sin(%1) : [2] float32\n"
                         "  %4 = sin(%2) : [2] float32\n"
                         "  %5 = add(%3, %4) : [2] float32\n",
                  {5}),
            head +
                "  %3 = sin(%1) : [2] float32\n"
                "  %5 = add(%3, %3) : [2] float32\n");
}

TEST(CommonSubexpressions, KeepDrawsAndWhatChanges) {
  for (const std::string& body : std::vector<std::string>{
           "  %0 = uniform(shape=[2], dtype=float32, min=0.0, max=1.0, "
           "seed=0, place=None) : [2] float32\n"
           "  %1 = uniform(shape=[2], dtype=float32, min=0.0, max=1.0, "
           "seed=0, place=None) : [2] float32\n"
           "  %2 = add(%0, %1) : [2] float32\n"}) {
    EXPECT_EQ(After("common_subexpressions", body, {2}), body);
  }
  const std::string changed =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = exp(%0) : [4] float32\n"
      "  store_(%0, %1)\n"
      "  %2 = exp(%0) : [4] float32\n"
      "  %3 = add(%1, %2) : [4] float32\n";
  EXPECT_EQ(After("common_subexpressions", changed, {3}, 1), changed);
}

// The gradients of two casts are added in float32, that of one in bfloat16.
TEST(CommonSubexpressions, In16BitsOnlyWhereNobodyAsksForGradients) {
  const std::string head =
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = cast(%0, dtype=bfloat16) : [2] bfloat16\n";
  const std::string body = head +
                           "  %2 = cast(%0, dtype=bfloat16) : [2] bfloat16\n"
                           "  %3 = add(%1, %2) : [2] bfloat16\n";
  EXPECT_EQ(After("common_subexpressions", body, {3}), body);
  EXPECT_EQ(After("equal_calls", body, {3}),
            head + "  %3 = add(%1, %1) : [2] bfloat16\n");
}

TEST(ConstantFolding, OfAttributes) {
  EXPECT_EQ(After("constant_folding",
                  "  %0 = input \"x\" : [2] float32\n"
                  "  %1 = full(shape=[2], value=2.0, dtype=float32, "
                  "place=None) : [2] float32\n"
                  "  %2 = exp(%1) : [2] float32\n"
                  "  %3 = add(%0, %2) : [2] float32\n",
                  {3}),
            "  %0 = input \"x\" : [2] float32\n"
            "  %4 = captured \"\" : [2] float32\n"
            "  %3 = add(%0, %4) : [2] float32\n");
}

TEST(ConstantFolding, NotOfOutputsOrLargeOnes) {
  for (const std::string& body : std::vector<std::string>{
           "  %0 = full(shape=[2], value=2.0, dtype=float32, place=None) : "
           "[2] float32\n",
           "  %1 = full(shape=[20000], value=2.0, dtype=float32, place=None) "
           ": [20000] float32\n"
           "  %0 = exp(%1) : [20000] float32\n"}) {
    const size_t values = body.find("%1") == std::string::npos ? 1 : 2;
    const auto parsed = ParseText("program {\n" + body + "}\n", {});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const std::string before = ToText(**parsed);
    const std::string_view names[] = {"constant_folding"};
    const ValueId outputs[] = {static_cast<ValueId>(values - 1)};
    EXPECT_FALSE(RunPasses(*parsed, outputs, names));
    EXPECT_EQ(ToText(**parsed), before);
  }
}

TEST(FoldParameters, WhatStaysAsItIs) {
  const std::string head =
      "  %0 = captured \"a\" : [4] float32\n"
      "  %1 = captured \"b\" : [4] float32\n"
      "  %2 = input \"x\" : [4] float32\n";
  // exp(a) + a is made once; what depends on b, which is changed, is not, nor
  // what goes out.
  EXPECT_EQ(After("fold_parameters",
                  head + "  %3 = exp(%0) : [4] float32\n"
                         "  %4 = add(%3, %0) : [4] float32\n"
                         "  %5 = multiply(%2, %4) : [4] float32\n"
                         "  %6 = exp(%1) : [4] float32\n"
                         "  store_(%1, %5)\n"
                         "  %7 = add(%6, %5) : [4] float32\n"
                         "  %8 = log(%0) : [4] float32\n",
                  {7, 8}, 2),
            head +
                "  %9 = captured \"\" : [4] float32\n"
                "  %5 = multiply(%2, %9) : [4] float32\n"
                "  %6 = exp(%1) : [4] float32\n"
                "  store_(%1, %5)\n"
                "  %7 = add(%6, %5) : [4] float32\n"
                "  %8 = log(%0) : [4] float32\n");
  // No parameter becomes much larger.
  const std::string body =
      "  %0 = captured \"a\" : [4] float32\n"
      "  %1 = input \"x\" : [400000] float32\n"
      "  %2 = tile(%0, repeat_times=[100000]) : [400000] float32\n"
      "  %3 = add(%2, %1) : [400000] float32\n";
  EXPECT_EQ(After("fold_parameters", body, {3}, 1), body);
}

TEST(TestMode, AsTheSchemasSay) {
  EXPECT_EQ(
      After("test_mode",
            WithNorm(
                "  %5, %6, %7, %8, %9 = batch_norm(%4, %0, %1, %2, %3, "
                "momentum=0.9, epsilon=1e-05, data_format=\"NCHW\") : [?, 4, "
                "8, 8] float32, [4] float32, [4] float32, [4] float32, [4] "
                "float32\n"
                "  store_(%0, %6)\n"
                "  store_(%1, %7)\n"
                "  %10, %11 = dropout(%5, p=0.5, training=true, "
                "mode=\"upscale_in_train\") : [?, 4, 8, 8] float32, [?, 4, 8, "
                "8] bool\n"
                "  %12 = exp(%8) : [4] float32\n"),
            {10}, 4),
      WithNorm("  %5 = batch_norm_inference(%4, %0, %1, %2, %3, "
               "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] float32\n"
               "  %10, %11 = dropout(%5, p=0.5, training=false, "
               "mode=\"upscale_in_train\") : [?, 4, 8, 8] float32, [?, 4, 8, "
               "8] bool\n"));
}

TEST(TestMode, RefusesOutputsOfTraining) {
  const std::string body = WithNorm(
      "  %5, %6, %7, %8, %9 = batch_norm(%4, %0, %1, %2, %3, momentum=0.9, "
      "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] float32, [4] "
      "float32, [4] float32, [4] float32, [4] float32\n"
      "  %10 = exp(%8) : [4] float32\n");
  try {
    After("test_mode", body, {10}, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("batch_norm: saved_mean"),
              std::string::npos)
        << e.what();
  }
}

TEST(PassDebugging, VerifiesAndDumps) {
  const PassRegistration broken(
      {"zz_broken", "Leaves a use without its maker.", [](Rewriter& r) {
         r.ForEachOperation([&](Operation& o) {
           if (std::string_view(o.op->name) == "exp") r.Erase(o);
         });
       }});
  const auto parsed = ParseText(
      "program {\n"
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n"
      "  %2 = sin(%1) : [2] float32\n"
      "}\n",
      {});
  ASSERT_TRUE(parsed.ok());
  std::string dumped;
  PassDebugging debugging;
  debugging.verify = true;
  debugging.dump = [&](const char* pass, const std::string& before,
                       const std::string& after) {
    dumped = std::string(pass) + before + after;
  };
  SetPassDebugging(debugging);
  const std::string_view names[] = {"zz_broken"};
  const ValueId outputs[] = {2};
  EXPECT_THROW(RunPasses(*parsed, outputs, names), Error);
  SetPassDebugging({});
  EXPECT_EQ(dumped.substr(0, 9), "zz_broken");
}

}  // namespace
}  // namespace proa::inline v0::jit
