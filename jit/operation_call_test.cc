#include "jit/operation_call.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

TEST(CallOperation, StoresEachResult) {
  const auto program = Parse(
      "  %0 = input \"x\" : [3] float32\n"
      "  %1, %2 = topk(%0, k=2, axis=-1, largest=true, sorted=true) : [2] "
      "float32, [2] int64\n");
  Environment env(program->values().size());
  env[0] = Floats({1, 3, 2});
  CallOperation(program->block().operations[0], env);
  EXPECT_EQ(Elements(env[1]), std::vector<float>({3, 2}));
  EXPECT_EQ(env[2].data<int64_t>()[0], 1);
}

TEST(CallOperation, ListsGoInAndOut) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = input \"y\" : [1] float32\n"
      "  %2 = concat([%0, %1], axis=0) : [3] float32\n");
  Environment env(program->values().size());
  env[0] = Floats({1, 2});
  env[1] = Floats({3});
  CallOperation(program->block().operations[0], env);
  EXPECT_EQ(Elements(env[2]), std::vector<float>({1, 2, 3}));
}

TEST(ArgumentValue, IsTheTensorOfNowOrTheAttribute) {
  Environment env = {Floats({1})};
  EXPECT_EQ(std::get<Tensor>(ArgumentValue(ValueRef{0}, env)).impl(),
            env[0].impl());
  EXPECT_EQ(std::get<std::vector<Tensor>>(
                ArgumentValue(std::vector<ValueRef>{{0}, {0}}, env))
                .size(),
            2u);
  EXPECT_EQ(std::get<int64_t>(ArgumentValue(Value(int64_t{7}), env)), 7);
}

}  // namespace
}  // namespace proa::inline v0::jit
