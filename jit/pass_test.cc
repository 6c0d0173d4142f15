#include "jit/pass.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "ops/elementwise/trigonometric_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

// The first operation named exp, or null.
Operation* FirstExp(Rewriter& r) {
  Operation* found = nullptr;
  r.ForEachOperation([&](Operation& o) {
    if (found == nullptr && std::string_view(o.op->name) == "exp") found = &o;
  });
  return found;
}

void SinInstead(Rewriter& r) {
  Operation* exp = FirstExp(r);
  if (exp == nullptr) return;
  const ValueId x = std::get<ValueRef>(exp->args[0]).id;
  ValueId made = kNoValue;
  r.RecordBefore(*exp, [&] {
    made = SymbolOf(ops::sin(MakeSymbolic(r.shared_program(), x))).id();
  });
  r.MakeAs(exp->results[0][0], made);
  r.Erase(*exp);
}

// What a pass must not do, and the verifier sees: a use before its value.
void UseTooEarly(Rewriter& r) {
  Operation* exp = FirstExp(r);
  if (exp == nullptr) return;
  Operation early;
  early.op = exp->op;
  early.args.emplace_back(ValueRef{exp->results[0][0]});
  early.results.push_back({r.program().AddValue(
      ValueKind::kResult, r.program().value(exp->results[0][0]).meta)});
  r.InsertBefore(*exp, std::move(early));
}

const PassRegistration sin_instead({"test_sin", "Of exp.", &SinInstead});
const PassRegistration too_early({"test_early", "Wrong.", &UseTooEarly});

constexpr char kExp[] =
    "  %0 = input \"x\" : [2] float32\n"
    "  %1 = exp(%0) : [2] float32\n";

class PassTest : public ::testing::Test {
 protected:
  ~PassTest() override { SetPassDebugging({}); }
  bool Run(std::vector<std::string_view> names) {
    return RunPasses(program_, outputs_, names);
  }
  std::shared_ptr<Program> program_ = Parse(kExp);
  std::vector<ValueId> outputs_ = {1};
};

TEST_F(PassTest, AreFoundByNameAndSorted) {
  ASSERT_NE(FindPass("test_sin"), nullptr);
  EXPECT_STREQ(FindPass("test_sin")->doc, "Of exp.");
  EXPECT_EQ(FindPass("test"), nullptr);
  for (size_t i = 1; i < AllPasses().size(); ++i) {
    EXPECT_LT(std::string_view(AllPasses()[i - 1].name), AllPasses()[i].name);
  }
}

TEST_F(PassTest, SayWhetherTheyChangedSomething) {
  EXPECT_TRUE(Run({"test_sin"}));
  EXPECT_NE(ToText(*program_).find("%1 = sin(%0)"), std::string::npos);
  EXPECT_FALSE(Run({"test_sin"}));
  EXPECT_THROW(Run({"test_sin", "no such pass"}), Error);
}

TEST_F(PassTest, AreShownToWhoAsks) {
  std::vector<std::string> seen;
  SetPassDebugging({.verify = true,
                    .dump = [&](const char* pass, const std::string& before,
                                const std::string& after) {
                      seen = {pass, before, after};
                    }});
  const std::string before = ToText(*program_);
  Run({"test_sin", "test_sin"});
  EXPECT_EQ(seen,
            std::vector<std::string>({"test_sin", before, ToText(*program_)}));
}

TEST_F(PassTest, AProgramThatAPassBreaksNamesThePass) {
  SetPassDebugging({.verify = true, .dump = nullptr});
  try {
    Run({"test_early"});
    FAIL() << "taken: " << ToText(*program_);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("pass test_early made a program"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
