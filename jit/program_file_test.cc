#include "jit/program_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/program_for_test.h"
#include "jit/text.h"

namespace proa::inline v0::jit {
namespace {

// x * w + b.
Module Example(float w) {
  Module m;
  m.program = Parse(
      "  %0 = input \"x\" : [?, 2] float32\n"
      "  %1 = captured \"w\" : [2] float32\n"
      "  %2 = captured \"b\" : [2] float32\n"
      "  %3 = multiply(%0, %1) : [?, 2] float32\n"
      "  %4 = add(%3, %2) : [?, 2] float32\n",
      {Floats({w, 2 * w}), Floats({0.5f, -0.5f})});
  m.inputs = {0};
  m.outputs = {4};
  m.output_names = {"y"};
  m.trainable = {"w"};
  m.context = {{"default_dtype", "float32"}};
  return m;
}

std::vector<float> Predict(const Module& m) {
  const Executor executor(*m.program, m.outputs);
  Tensor x = Tensor::Empty({1, 2}, DType::kFloat32);
  x.data<float>()[0] = 3;
  x.data<float>()[1] = 4;
  const std::pair<ValueId, Tensor> feeds[] = {{m.inputs[0], x}};
  return Elements(executor.Run(feeds)[0]);
}

std::string Contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// A prefix in a folder of its own for each test.
std::string Prefix() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / test->name();
  std::filesystem::create_directories(folder);
  return (folder / "model").string();
}

TEST(ProgramFile, WhatIsLoadedIsWhatWasSaved) {
  const std::string prefix = Prefix();
  const Module saved = Example(1.25f);
  ASSERT_TRUE(SaveModule(saved, prefix).ok());
  for (const Parameters kind : {Parameters::kCopied, Parameters::kMapped}) {
    const auto loaded = LoadModule(prefix, kind);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(ToText(*loaded->program), ToText(*saved.program));
    EXPECT_EQ(loaded->output_names, saved.output_names);
    EXPECT_EQ(loaded->trainable, saved.trainable);
    EXPECT_EQ(loaded->context, saved.context);
    EXPECT_EQ(Predict(*loaded), Predict(saved));
  }
  const auto by_name =
      LoadModuleFiles(prefix + ".pdmodel", prefix + ".pdiparams");
  ASSERT_TRUE(by_name.ok()) << by_name.status();
  EXPECT_EQ(Predict(*by_name), Predict(saved));
  const auto parsed = ParseModuleFiles(Contents(prefix + ".pdmodel"),
                                       Contents(prefix + ".pdiparams"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(Predict(*parsed), Predict(saved));
}

// x * w + b in a test; x * w * c while it is trained, and `w` becomes c.
Module ExampleOfTraining() {
  Module m = Example(1.25f);
  auto trained = std::make_shared<Module>(m);
  const Tensor w = m.program->value(1).captured;
  trained->program = Parse(
      "  %0 = input \"x\" : [?, 2] float32\n"
      "  %1 = captured \"c\" : [2] float32\n"
      "  %2 = captured \"w\" : [2] float32\n"
      "  %3 = multiply(%0, %2) : [?, 2] float32\n"
      "  %4 = multiply(%3, %1) : [?, 2] float32\n"
      "  store_(%2, %1)\n",
      {Floats({10, 20}), w});
  m.training = std::move(trained);
  return m;
}

TEST(ProgramFile, WhatItDoesInTraining) {
  const std::string prefix = Prefix();
  const Module saved = ExampleOfTraining();
  ASSERT_TRUE(SaveModule(saved, prefix).ok());
  const auto alone = LoadModule(prefix);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->training, nullptr);
  EXPECT_EQ(Predict(*alone), Predict(Example(1.25f)));
  for (const Parameters kind : {Parameters::kCopied, Parameters::kMapped}) {
    const auto loaded = LoadModule(prefix, kind, Training::kRead);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_NE(loaded->training, nullptr);
    EXPECT_EQ(ToText(*loaded->training->program),
              ToText(*saved.training->program));
    EXPECT_EQ(Elements(loaded->training->program->value(1).captured),
              std::vector<float>({10, 20}));
    // One tensor, whoever runs.
    EXPECT_EQ(loaded->training->program->value(2).captured.impl(),
              loaded->program->value(1).captured.impl());
    EXPECT_EQ(Predict(*loaded->training), std::vector<float>({37.5f, 200}));
  }
}

TEST(ProgramFile, EveryTruncationOfTrainingIsAnError) {
  const std::string prefix = Prefix();
  ASSERT_TRUE(SaveModule(ExampleOfTraining(), prefix).ok());
  const std::string program = Contents(prefix + ".pdmodel");
  for (size_t n = 0; n < program.size(); ++n) {
    std::ofstream(prefix + ".pdmodel", std::ios::binary)
        << program.substr(0, n);
    EXPECT_FALSE(LoadModule(prefix, {}, Training::kRead).ok()) << n;
  }
}

// The most memory that this process had counts from now on.
bool ForgetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  return file.good();
}

// A line of what the system says about this process, in KiB.
int64_t Kib(const std::string& line) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    int64_t kib = 0;
    if (word == line && file >> kib) return kib;
  }
  return 0;
}

// A file that is copied is let go of while it is: not twice as much memory.
TEST(ProgramFile, WhatIsCopiedLiesInMemoryOnce) {
  constexpr int kCount = 24;
  constexpr int64_t kElements = 1 << 20;
  const std::string prefix = Prefix();
  std::string body = "  %0 = input \"x\" : [1048576] float32\n";
  std::vector<Tensor> parameters;
  for (int i = 1; i <= kCount; ++i) {
    body += absl::StrCat("  %", i, " = captured \"p", i,
                         "\" : [1048576] float32\n");
    parameters.push_back(Tensor::Empty({kElements}, DType::kFloat32));
    std::fill_n(parameters.back().data<float>(), kElements, i);
  }
  for (int i = 1; i <= kCount; ++i) {
    body +=
        absl::StrCat("  %", kCount + i, " = add(%", i == 1 ? 0 : kCount + i - 1,
                     ", %", i, ") : [1048576] float32\n");
  }
  Module saved;
  saved.program = Parse(body, parameters);
  saved.inputs = {0};
  saved.outputs = {2 * kCount};
  saved.output_names = {"y"};
  ASSERT_TRUE(SaveModule(saved, prefix).ok());
  saved = {};
  parameters.clear();
  if (!ForgetPeak()) GTEST_SKIP() << "no peak of a part of a process";
  const int64_t before = Kib("VmRSS:");
  const auto loaded = LoadModule(prefix);
  const int64_t took = Kib("VmHWM:") - before;
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  constexpr int64_t kKib = kCount * kElements * sizeof(float) / 1024;
  EXPECT_LT(took, kKib + kKib / 3);
  for (int i = 1; i <= kCount; ++i) {
    const Tensor& t = loaded->program->value(i).captured;
    EXPECT_EQ(t.data<float>()[0], i);
    EXPECT_EQ(t.data<float>()[kElements - 1], i);
  }
}

TEST(ProgramFile, AModelIsReplacedAsAWhole) {
  const std::string prefix = Prefix();
  ASSERT_TRUE(SaveModule(Example(1), prefix).ok());
  const auto old = LoadModule(prefix, Parameters::kMapped);
  ASSERT_TRUE(old.ok());
  ASSERT_TRUE(SaveModule(Example(10), prefix).ok());
  const auto now = LoadModule(prefix);
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(Predict(*now), Predict(Example(10)));
  EXPECT_EQ(Predict(*old),
            Predict(Example(1)));  // who has mapped the old one keeps it
}

TEST(ProgramFile, FilesOfTwoModelsAreRefused) {
  const std::string prefix = Prefix();
  ASSERT_TRUE(SaveModule(Example(1), prefix).ok());
  const std::string program = Contents(prefix + ".pdmodel");
  ASSERT_TRUE(SaveModule(Example(2), prefix).ok());
  const auto mixed = ParseModuleFiles(program, Contents(prefix + ".pdiparams"));
  EXPECT_FALSE(mixed.ok());
}

TEST(ProgramFile, EveryTruncationIsAnError) {
  const std::string prefix = Prefix();
  ASSERT_TRUE(SaveModule(Example(1), prefix).ok());
  const std::string program = Contents(prefix + ".pdmodel"),
                    parameters = Contents(prefix + ".pdiparams");
  for (size_t n = 0; n < program.size(); ++n) {
    EXPECT_FALSE(ParseModuleFiles(program.substr(0, n), parameters).ok()) << n;
  }
  for (size_t n = 0; n < parameters.size(); ++n) {
    EXPECT_FALSE(ParseModuleFiles(program, parameters.substr(0, n)).ok()) << n;
  }
}

TEST(ProgramFile, EveryChangedByteIsAnError) {
  const std::string prefix = Prefix();
  ASSERT_TRUE(SaveModule(Example(1), prefix).ok());
  const std::string program = Contents(prefix + ".pdmodel"),
                    parameters = Contents(prefix + ".pdiparams");
  const auto changed = [](std::string s, size_t i) {
    s[i] = static_cast<char>(s[i] ^ 0x20);
    return s;
  };
  for (size_t i = 0; i < program.size(); ++i) {
    EXPECT_FALSE(ParseModuleFiles(changed(program, i), parameters).ok()) << i;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_FALSE(ParseModuleFiles(program, changed(parameters, i)).ok()) << i;
  }
}

TEST(ProgramFile, ErrorsNameTheFile) {
  const std::string prefix = Prefix();
  const auto missing = LoadModule(prefix + "_nothing");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("model_nothing.pdmodel"),
            absl::string_view::npos)
      << missing.status();
  const absl::Status nowhere = SaveModule(Example(1), prefix + "/no/folder/m");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.message().find("no/folder"), absl::string_view::npos)
      << nowhere;
  ASSERT_TRUE(SaveModule(Example(1), prefix).ok());
  std::filesystem::resize_file(prefix + ".pdiparams", 10);
  const auto cut = LoadModule(prefix);
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.status().message().find("model.pdiparams"),
            absl::string_view::npos)
      << cut.status();
}

}  // namespace
}  // namespace proa::inline v0::jit
