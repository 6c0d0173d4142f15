// Programs as untrusted bytes: what passes the checksum may still be malformed.
#include "jit/program_proto.h"

#include <random>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/program.pb.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "jit/version.h"
#include "ops/definition.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"
#include "ops/upgrade.h"

namespace proa::inline v0::jit {
namespace {

namespace file = ::proa_program_file;

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

// Files of other releases ----------------------------------------------------

// The example's program as a message, to be changed.
file::Module ExampleFile() {
  file::Module m;
  m.ParseFromString(*SerializeModule(Example(), 64, 4, 0));
  return m;
}

file::Operation& OperationOf(file::Module& m, const std::string& op) {
  for (file::Operation& o : *m.mutable_block()->mutable_operations()) {
    if (o.op() == op) return o;
  }
  ADD_FAILURE() << "no " << op;
  return *m.mutable_block()->add_operations();
}

std::string Refusal(const file::Module& m) {
  const auto parsed = ParseModule(m.SerializeAsString());
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

TEST(ProgramProto, ArgumentsAreNamedAndDefaultsLeftOut) {
  file::Module m = ExampleFile();
  const file::Operation& sum = OperationOf(m, "sum");
  std::vector<std::string> names;
  for (const file::Argument& a : sum.args()) names.push_back(a.name());
  EXPECT_EQ(names, (std::vector<std::string>{"x", "axis", "dtype", "keepdim"}));
  ASSERT_EQ(sum.results_size(), 1);
  EXPECT_EQ(sum.results(0).name(), "out");

  // In another order, and without those that are filled in.
  file::Operation& changed = OperationOf(m, "sum");
  changed.mutable_args()->SwapElements(0, 3);
  changed.mutable_args()->DeleteSubrange(0, 1);  // keepdim
  const auto parsed = ParseModule(m.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_NE(ToText(*parsed->module.program).find("keepdim=false)"),
            std::string::npos)
      << ToText(*parsed->module.program);
}

TEST(ProgramProto, WhatIsNotKnownIsRefusedByName) {
  file::Module m = ExampleFile();
  EXPECT_EQ(Refusal(m), "");
  m.set_producer("proa 9.9.0");
  file::Module other = m;
  OperationOf(other, "sum").set_op("sum\nof");
  EXPECT_EQ(Refusal(other),
            "op 'sum\\nof' is not known to this release; the file was written "
            "by 'proa 9.9.0', this is proa " PROA_JIT_VERSION_STRING);
  other = m;
  OperationOf(other, "sum").set_version(7);
  EXPECT_THAT(Refusal(other),
              testing::HasSubstr("op 'sum' version 7 is newer than this "
                                 "release, which has version 1"));
  other = m;
  OperationOf(other, "sum").set_version(0);
  EXPECT_THAT(Refusal(other), testing::HasSubstr("has the version 0"));
  other = m;
  OperationOf(other, "sum").add_args()->set_name("where");
  EXPECT_THAT(Refusal(other),
              testing::HasSubstr("argument 'where' has no value"));
  OperationOf(other, "sum").mutable_args()->rbegin()->set_i(3);
  EXPECT_THAT(Refusal(other),
              testing::HasSubstr("op 'sum' has the argument 'where', which "
                                 "this release does not know"));
  OperationOf(other, "sum").mutable_args()->rbegin()->set_name("axis");
  EXPECT_THAT(Refusal(other), testing::HasSubstr("the argument 'axis' twice"));
  other = m;
  OperationOf(other, "multiply").mutable_args()->RemoveLast();
  EXPECT_THAT(Refusal(other),
              testing::HasSubstr("op 'multiply' has no argument 'y'"));
  other = m;
  OperationOf(other, "sum").mutable_results(0)->set_name("mask");
  EXPECT_THAT(Refusal(other), testing::HasSubstr("op 'sum' gives 'mask'"));
  other = m;
  other.mutable_values(0)->mutable_meta()->set_dtype("float8");
  EXPECT_THAT(
      Refusal(other),
      testing::HasSubstr("'float8' is no dtype that this release knows"));
  other = m;
  other.mutable_values(0)->set_kind(static_cast<file::Value::Kind>(9));
  EXPECT_THAT(Refusal(other), testing::HasSubstr("of kind 9"));
  other = m;
  file::Setting* setting = other.add_context();
  setting->set_name("layout");
  EXPECT_THAT(Refusal(other), testing::HasSubstr("setting 'layout'"));
  other = m;
  other.set_format(3);
  EXPECT_THAT(Refusal(other), testing::HasSubstr("reads format 2"));
}

TEST(ProgramProto, FieldsThatAreNotKnownAreRefused) {
  const file::Module m = ExampleFile();
  const std::string field = "\xf8\x06\x01";  // field 111, a number
  const auto parsed = ParseModule(m.SerializeAsString() + field);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().message(),
            "field 111 of Module is not known to this release");
  // Deeper.
  file::Module deep = m;
  google::protobuf::Message* meta = deep.mutable_values(0)->mutable_meta();
  meta->GetReflection()->MutableUnknownFields(meta)->AddVarint(50, 1);
  EXPECT_EQ(Refusal(deep), "field 50 of Meta is not known to this release");
}

// Version 1 had the factors the other way round; in version 2 its result was
// called "product"; then it became another op.
PROA_UPGRADE("test_product", 1, [](RecordedCall& call) {
  call.Rename("a", "c");
  call.Rename("b", "a");
  call.Rename("c", "b");
});
PROA_UPGRADE("test_product", 2, [](RecordedCall& call) {
  call.op = "multiply";
  call.version = 1;
  call.Rename("a", "x");
  call.Rename("b", "y");
  call.RenameResult("product", "out");
  call.Erase("rounding");
});
PROA_UPGRADE("test_circle", 1, [](RecordedCall& call) { call.version = 2; });
PROA_UPGRADE("test_circle", 2, [](RecordedCall& call) { call.version = 1; });

TEST(ProgramProto, OlderCallsAreUpgraded) {
  file::Module m = ExampleFile();
  const std::string text =
      ToText(*ParseModule(m.SerializeAsString())->module.program);
  file::Operation& o = OperationOf(m, "multiply");
  o.set_op("test_product");
  o.mutable_args(0)->set_name("b");
  o.mutable_args(1)->set_name("a");
  o.mutable_results(0)->set_name("product");
  file::Argument* rounding = o.add_args();
  rounding->set_name("rounding");
  rounding->set_s("up");
  const auto parsed = ParseModule(m.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ToText(*parsed->module.program), text);

  o.set_version(3);
  EXPECT_EQ(Refusal(m), "op 'test_product' is not known to this release");
  o.set_op("test_circle");
  o.set_version(1);
  EXPECT_THAT(Refusal(m), testing::HasSubstr("upgrades go in a circle"));
}

// Each version that an op ever had can be read.
TEST(ProgramProto, NoVersionIsLeftBehind) {
  for (const OpDefinition* op : AllOps()) {
    for (int version = 1; version < op->version; ++version) {
      bool found = false;
      for (const Upgrade& u : AllUpgrades()) {
        found |= op->name == std::string(u.op) && u.from == version;
      }
      EXPECT_TRUE(found) << op->name << " has no upgrade from " << version;
    }
  }
}

TEST(ProgramProto, TrainingIsAModuleOfTheSameParameters) {
  const auto said = [](const file::Module& m) {
    const auto parsed = ParseModule(m.SerializeAsString(), Training::kRead);
    return std::string(parsed.status().message());
  };
  file::Module m = ExampleFile(), trained = m;
  trained.clear_parameter_bytes();
  m.set_training(trained.SerializeAsString());
  const auto parsed = ParseModule(m.SerializeAsString(), Training::kRead);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_NE(parsed->training, nullptr);
  EXPECT_EQ(parsed->training->slices.size(), parsed->slices.size());
  EXPECT_EQ(ParseModule(m.SerializeAsString())->training, nullptr);

  const char* const no_program =
      "what it does in training is no program of this format";
  m.set_training("nonsense");
  EXPECT_EQ(said(m), no_program);
  EXPECT_TRUE(ParseModule(m.SerializeAsString()).ok());
  trained.set_training(trained.SerializeAsString());
  m.set_training(trained.SerializeAsString());
  EXPECT_EQ(said(m), no_program);
  trained.clear_training();
  for (file::Value& v : *trained.mutable_values()) {
    if (v.kind() == file::Value::CAPTURED) v.set_offset(1 << 20);
  }
  m.set_training(trained.SerializeAsString());
  EXPECT_THAT(said(m), testing::HasSubstr("bytes at offset"));
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

}  // namespace
}  // namespace proa::inline v0::jit
