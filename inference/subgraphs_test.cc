// Parts of programs that another engine claims, runs and declines.
#include "inference/subgraphs.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "inference/predictor.h"
#include "jit/program.h"
#include "jit/program_file.h"
#include "jit/text.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {
namespace {

// Computes tanh and neg by loops of its own.
class Loops final : public SubgraphEngine {
 public:
  explicit Loops(std::string name, size_t least = 1, bool declines = false)
      : name_(std::move(name)), least_(least), declines_(declines) {}
  std::string name() const override { return name_; }
  size_t least_operations() const override { return least_; }
  std::vector<bool> Claims(const jit::Module& whole) const override {
    std::vector<bool> out;
    for (const jit::Operation& o : whole.program->block().operations) {
      const std::string op = o.op->name;
      out.push_back(op == "tanh" || op == "neg");
    }
    return out;
  }
  absl::StatusOr<std::shared_ptr<const Engine>> Compile(
      const jit::Module& part, const SubgraphSettings&) const override {
    if (declines_) return absl::UnimplementedError("not today");
    parts_.push_back(jit::ToText(*part.program));
    return std::make_shared<Runner>(part);
  }

  // The texts of the parts that it was given.
  mutable std::vector<std::string> parts_;

 private:
  class Runner final : public Engine {
   public:
    explicit Runner(jit::Module part) : part_(std::move(part)) {}
    std::vector<proa::Tensor> Run(const std::vector<proa::Tensor>& inputs,
                                  const Hooks&) const override {
      std::unordered_map<jit::ValueId, proa::Tensor> at;
      for (size_t i = 0; i < inputs.size(); ++i)
        at[part_.inputs[i]] = inputs[i];
      for (const jit::Operation& o : part_.program->block().operations) {
        const proa::Tensor& x = at.at(std::get<jit::ValueRef>(o.args[0]).id);
        proa::Tensor y = proa::Tensor::Empty(x.shape(), x.dtype());
        const bool tanh = std::string(o.op->name) == "tanh";
        for (int64_t i = 0; i < x.numel(); ++i) {
          const float v = x.data<float>()[i];
          y.data<float>()[i] = tanh ? std::tanh(v) : -v;
        }
        at[o.results[0][0]] = y;
      }
      std::vector<proa::Tensor> out;
      for (const jit::ValueId id : part_.outputs) out.push_back(at.at(id));
      return out;
    }
    void CheckHooks() const override {}
    std::string Plan() const override { return "loops"; }

   private:
    const jit::Module part_;
  };

  const std::string name_;
  const size_t least_;
  const bool declines_;
};

// y = exp(-tanh(x) * w) + tanh(x); z = -tanh(x); w; x
constexpr char kBody[] =
    "program {\n"
    "  %0 = input \"x\" : [?, 2] float32\n"
    "  %1 = captured \"w\" : [2] float32\n"
    "  %2 = tanh(%0) : [?, 2] float32\n"
    "  %3 = neg(%2) : [?, 2] float32\n"
    "  %4 = multiply(%3, %1) : [?, 2] float32\n"
    "  %5 = exp(%4) : [?, 2] float32\n"
    "  %6 = tanh(%0) : [?, 2] float32\n"
    "  %7 = add(%5, %6) : [?, 2] float32\n"
    "  %8 = tanh(%7) : [?, 2] float32\n"
    "}\n";

std::string Saved(const std::string& body = kBody,
                  const std::vector<jit::ValueId>& outputs = {8, 3, 0}) {
  proa::Tensor w = proa::Tensor::Empty({2}, DType::kFloat32);
  w.data<float>()[0] = 2;
  w.data<float>()[1] = -1;
  const std::vector<proa::Tensor> captured = {w};
  jit::Module module;
  module.program = *jit::ParseText(body, captured);
  module.inputs = {0};
  module.outputs = outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    module.output_names.push_back("y" + std::to_string(i));
  }
  const std::string prefix = std::string(std::getenv("TEST_TMPDIR")) + "/net";
  EXPECT_TRUE(jit::SaveModule(module, prefix).ok());
  return prefix;
}

std::vector<std::vector<float>> RunOn(Predictor& p, std::vector<float> x) {
  const auto in = p.GetInputHandle("x");
  in->Reshape({static_cast<int64_t>(x.size()) / 2, 2});
  in->CopyFromCpu(x.data());
  p.Run();
  std::vector<std::vector<float>> out;
  for (const std::string& name : p.GetOutputNames()) {
    const auto y = p.GetOutputHandle(name);
    out.emplace_back(static_cast<size_t>(y->numel()));
    y->CopyToCpu(out.back().data());
  }
  return out;
}

void ExpectRight(Predictor& p) {
  for (const std::vector<float>& x : {std::vector<float>{0.5f, -1, 2, 0.1f},
                                      {1, 2},
                                      {},
                                      {3, 4, 5, 6, 7, 8}}) {
    const auto got = RunOn(p, x);
    ASSERT_EQ(got.size(), 3u);
    for (size_t i = 0; i < x.size(); ++i) {
      const double t = std::tanh(x[i]), w = i % 2 == 0 ? 2 : -1;
      EXPECT_NEAR(got[0][i], std::tanh(std::exp(-t * w) + t), 1e-5);
      EXPECT_NEAR(got[1][i], -t, 1e-6);
      EXPECT_EQ(got[2][i], x[i]);
    }
  }
}

Config Quiet(const std::string& prefix, const std::string& engine) {
  Config c(prefix);
  c.EnableSubgraphEngine(engine);
  c.DisableGlogInfo();
  return c;
}

TEST(Subgraphs, AnEngineComputesWhatItClaims) {
  const auto engine = std::make_shared<Loops>("loops");
  RegisterSubgraphEngine(engine);
  const Config c = Quiet(Saved(), "loops");
  const auto p = CreatePredictor(c);
  // The two that are equal are one; between the first part and the last lies
  // what runs here.
  ASSERT_EQ(engine->parts_.size(), 2u);
  EXPECT_NE(engine->parts_[0].find("tanh(%0) : [?, 2]"), std::string::npos)
      << engine->parts_[0];
  EXPECT_NE(engine->parts_[0].find("neg("), std::string::npos);
  ExpectRight(*p);
  ExpectRight(*p->Clone());
  EXPECT_NE(c.Summary().find("loops and own"), std::string::npos);
  EXPECT_THROW(p->RegisterOutputHook([](auto&&...) {}), Error);
}

TEST(Subgraphs, ManyThreads) {
  RegisterSubgraphEngine(std::make_shared<Loops>("loops"));
  const auto p = CreatePredictor(Quiet(Saved(), "loops"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([clone = std::shared_ptr<Predictor>(p->Clone())] {
      for (int k = 0; k < 20; ++k) ExpectRight(*clone);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Subgraphs, SmallPartsAndDeclinedOnesRunHere) {
  const auto wants_more = std::make_shared<Loops>("more", 2);
  RegisterSubgraphEngine(wants_more);
  ExpectRight(*CreatePredictor(Quiet(Saved(), "more")));
  EXPECT_EQ(wants_more->parts_.size(), 1u);
  const auto declines = std::make_shared<Loops>("declines", 1, true);
  RegisterSubgraphEngine(declines);
  Config c = Quiet(Saved(), "declines");
  ExpectRight(*CreatePredictor(c));
  EXPECT_TRUE(declines->parts_.empty());
  Config says(Saved());
  says.EnableSubgraphEngine("declines");
  ::testing::internal::CaptureStderr();
  CreatePredictor(says);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                "declines declines a part (tanh, neg), which runs here: not "
                "today"),
            std::string::npos);
}

TEST(Subgraphs, ResultsThatNoPartMakes) {
  RegisterSubgraphEngine(std::make_shared<Loops>("loops"));
  const auto p = CreatePredictor(Quiet(Saved(kBody, {1, 0}), "loops"));
  const auto got = RunOn(*p, {1, 2});
  EXPECT_EQ(got[0], (std::vector<float>{2, -1}));
  EXPECT_EQ(got[1], (std::vector<float>{1, 2}));
}

TEST(Subgraphs, AnUnknownNameListsTheOthers) {
  RegisterSubgraphEngine(std::make_shared<Loops>("loops"));
  try {
    CreatePredictor(Quiet(Saved(), "nothing"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("is named 'nothing'; there are "),
              std::string::npos)
        << e.what();
    EXPECT_NE(std::string(e.what()).find("loops"), std::string::npos);
  }
}

}  // namespace
}  // namespace proa::inline v0::inference
