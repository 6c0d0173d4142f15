#include "jit/program.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

TEST(Program, CapturesATensorOnce) {
  Program program;
  const Tensor w = Floats({1, 2});
  EXPECT_EQ(program.FindCaptured(w), kNoValue);
  const ValueId id = program.Capture(w, "w");
  EXPECT_EQ(program.Capture(w, "again"), id);
  EXPECT_EQ(program.FindCaptured(w), id);
  EXPECT_EQ(program.value(id).name, "w");
  EXPECT_EQ(program.FindCaptured(w.Alias()), kNoValue);
  EXPECT_EQ(program.captured(), std::vector<ValueId>({id}));
}

TEST(Program, AnotherTensorMayTakeAPlace) {
  Program program;
  const Tensor before = Floats({1, 2}), now = Floats({3, 4});
  const ValueId id = program.Capture(before, "w");
  const uint64_t version = program.version();
  program.SetCaptured(id, now);
  EXPECT_EQ(program.FindCaptured(now), id);
  EXPECT_EQ(program.FindCaptured(before), kNoValue);
  EXPECT_GT(program.version(), version);
}

TEST(Program, FindsByName) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n");
  program->NameResult(1, "y");
  EXPECT_EQ(program->Find("x"), 0);
  EXPECT_EQ(program->Find("y"), kNoValue);
  EXPECT_EQ(program->FindAny("y"), 1);
  program->NameResult(0, "z");  // an input keeps its name
  EXPECT_EQ(program->Find("x"), 0);
  EXPECT_EQ(program->inputs(), std::vector<ValueId>({0}));
}

TEST(Program, AnAttachmentStaysUntilTheNext) {
  struct Note : Program::Attachment {};
  Program program;
  EXPECT_EQ(program.attachment(), nullptr);
  const auto note = std::make_shared<Note>();
  program.Attach(note);
  EXPECT_EQ(program.attachment(), note);
}

}  // namespace
}  // namespace proa::inline v0::jit
