#include "jit/reference/load.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <utility>

#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/reference/import.h"
#include "jit/reference/parameters.h"
#include "jit/reference/program_desc.h"
#include "jit/reference/rule.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {
namespace {

VarDesc Variable(const std::string& name, std::vector<int64_t> dims,
                 DType t = DType::kFloat32) {
  VarDesc v;
  v.name = name;
  v.dtype = t;
  v.dims = std::move(dims);
  return v;
}

AttributeDesc Number(int64_t i, AttributeKind kind = AttributeKind::kInt) {
  return {kind, i};
}

OpDesc FeedOp(const std::string& name, int column) {
  OpDesc op{"feed", {{"X", {"feed"}}}, {{"Out", {name}}}, {}};
  op.attributes["col"] = Number(column);
  return op;
}

OpDesc FetchOp(const std::string& name, int column) {
  OpDesc op{"fetch", {{"X", {name}}}, {{"Out", {"fetch"}}}, {}};
  op.attributes["col"] = Number(column);
  return op;
}

// relu(x w + b), and 2 ** n by a loop.
ProgramDesc Sample() {
  ProgramDesc p;
  p.version = 1008000;
  p.blocks.resize(2);
  BlockDesc& b = p.blocks[0];
  b.vars = {Variable("x", {-1, 3}),
            Variable("w", {3, 2}),
            Variable("b", {2}),
            Variable("xw", {-1, 2}),
            Variable("y", {-1, 2}),
            Variable("n", {1}, DType::kInt64),
            Variable("i", {1}, DType::kInt64),
            Variable("power", {1}, DType::kInt64),
            Variable("more", {1}, DType::kBool)};
  b.vars[1].persistable = b.vars[2].persistable = true;
  const auto fill = [](const std::string& out, int64_t value) {
    OpDesc op{"fill_constant", {}, {{"Out", {out}}}, {}};
    op.attributes["shape"] = {AttributeKind::kLongs, std::vector<int64_t>{1}};
    op.attributes["dtype"] = Number(3);
    op.attributes["value"] = {AttributeKind::kFloat,
                              static_cast<double>(value)};
    return op;
  };
  OpDesc mul{"mul", {{"X", {"x"}}, {"Y", {"w"}}}, {{"Out", {"xw"}}}, {}};
  OpDesc add{
      "elementwise_add", {{"X", {"xw"}}, {"Y", {"b"}}}, {{"Out", {"y"}}}, {}};
  add.attributes["axis"] = Number(1);
  const OpDesc less{
      "less_than", {{"X", {"i"}}, {"Y", {"n"}}}, {{"Out", {"more"}}}, {}};
  OpDesc loop{"while",
              {{"X", {"i", "power"}}, {"Condition", {"more"}}},
              {{"Out", {"i", "power"}}},
              {}};
  loop.attributes["sub_block"] = Number(1, AttributeKind::kBlock);
  b.ops = {FeedOp("x", 0),
           FeedOp("n", 1),
           mul,
           add,
           OpDesc{"relu", {{"X", {"y"}}}, {{"Out", {"y"}}}, {}},
           fill("i", 0),
           fill("power", 1),
           less,
           loop,
           FetchOp("y", 0),
           FetchOp("power", 1)};
  BlockDesc& body = p.blocks[1];
  body.parent = 0;
  OpDesc twice{"scale", {{"X", {"power"}}}, {{"Out", {"power"}}}, {}};
  twice.attributes["scale"] = {AttributeKind::kFloat, 2.0};
  OpDesc step{"increment", {{"X", {"i"}}}, {{"Out", {"i"}}}, {}};
  step.attributes["step"] = {AttributeKind::kFloat, 1.0};
  body.ops = {twice, step, less};
  return p;
}

Tensor Floats(const Shape& shape, const std::vector<float>& values) {
  const Tensor t = Tensor::Empty(shape, DType::kFloat32);
  std::ranges::copy(values, t.data<float>());
  return t;
}

std::string Parameters() {
  std::string bytes;
  AppendTensor(Floats({2}, {0.5f, -100.f}), bytes);  // b, by the alphabet
  AppendTensor(Floats({3, 2}, {1, 2, 3, 4, 5, 6}), bytes);
  return bytes;
}

std::vector<Tensor> Outputs(const Module& m, int64_t n) {
  const Tensor count = Tensor::Empty({1}, DType::kInt64);
  *count.data<int64_t>() = n;
  const Executor executor(*m.program, m.outputs);
  return executor.Run(
      {{{m.inputs[0], Floats({1, 3}, {1, 1, 1})}, {m.inputs[1], count}}});
}

TEST(LoadReferenceModel, RunsWithLoop) {
  const auto m =
      ParseReferenceModel(SerializeProgramDesc(Sample()), Parameters());
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ(m->output_names, (std::vector<std::string>{"y", "power"}));
  EXPECT_EQ(*m->trainable, (std::vector<std::string>{"b", "w"}));
  const auto out = Outputs(*m, 5);
  EXPECT_EQ(out[0].data<float>()[0], 9.5f);
  EXPECT_EQ(out[0].data<float>()[1], 0.f);
  EXPECT_EQ(*out[1].data<int64_t>(), 32);
  EXPECT_EQ(*Outputs(*m, 0)[1].data<int64_t>(), 1);
}

TEST(LoadReferenceModel, AllFormsOfFiles) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "forms";
  fs::create_directories(folder / "one");
  fs::create_directories(folder / "several");
  const auto write = [](const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  const std::string program = SerializeProgramDesc(Sample());
  write(folder / "net.pdmodel", program);
  write(folder / "net.pdiparams", Parameters());
  write(folder / "one" / "__model__", program);
  write(folder / "one" / "__params__", Parameters());
  write(folder / "several" / "__model__", program);
  std::string w, b;
  AppendTensor(Floats({3, 2}, {1, 2, 3, 4, 5, 6}), w);
  AppendTensor(Floats({2}, {0.5f, -100.f}), b);
  write(folder / "several" / "w", w);
  write(folder / "several" / "b", b);
  for (const char* name : {"net", "net.pdmodel", "one", "several",
                           "one/__model__", "several/__model__"}) {
    const auto m = LoadAnyModel((folder / name).string());
    ASSERT_TRUE(m.ok()) << name << m.status();
    EXPECT_EQ(Outputs(*m, 1)[0].data<float>()[0], 9.5f) << name;
  }
  const auto m =
      LoadAnyModel(ModelFiles{(folder / "one" / "__model__").string(),
                              (folder / "net.pdiparams").string()});
  ASSERT_TRUE(m.ok()) << m.status();
  write(folder / "several" / "w", w.substr(0, 20));
  EXPECT_NE(LoadAnyModel((folder / "several").string())
                .status()
                .message()
                .find("several/w: byte"),
            absl::string_view::npos);
}

TEST(LoadReferenceModel, UnknownOpsAreListedTogether) {
  ProgramDesc p = Sample();
  OpDesc op{"fancy", {}, {{"Out", {"z"}}}, {}};
  op.attributes["sides"] = {AttributeKind::kInts, std::vector<int64_t>{1, 2}};
  p.blocks[1].ops.push_back(op);
  op.type = "relu";
  p.blocks[0].ops.push_back(op);
  const auto m = ParseReferenceModel(SerializeProgramDesc(p), Parameters());
  EXPECT_EQ(m.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(m.status().message(),
            "the program has ops that are not known:\n"
            "  fancy (sides=[1, 2]) in 1 op\n"
            "  relu attributes (sides=[1, 2]) in 1 op");
}

TEST(LoadReferenceModel, BadPrograms) {
  const auto message = [](auto change) {
    ProgramDesc p = Sample();
    change(p);
    const auto m = ParseReferenceModel(SerializeProgramDesc(p), Parameters());
    return m.ok() ? std::string("ok") : std::string(m.status().message());
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos ? "" : text;
  };
  EXPECT_EQ("", has(message([](auto& p) {
                      p.blocks[0].ops[8].attributes["sub_block"] =
                          Number(7, AttributeKind::kBlock);
                    }),
                    "has no block 7"));
  EXPECT_EQ("", has(message([](auto& p) {
                      p.blocks[1].ops.push_back(p.blocks[0].ops[8]);
                    }),
                    "has no block 1 after its own"));
  EXPECT_EQ("", has(message([](auto& p) {
                      p.blocks[0].ops[2].inputs[0].second = {"nobody"};
                    }),
                    "op 2 'mul': variable 'nobody' has no value"));
  EXPECT_EQ("", has(message([](auto& p) {
                      p.blocks[0].vars[1].dims = {2, 3};
                    }),
                    "is [3, 2] float32, which is not what the program says"));
  EXPECT_EQ("", has(message([](auto& p) { p.blocks[0].ops.resize(9); }),
                    "fetches nothing"));
  EXPECT_EQ(
      "", has(message([](auto& p) { p.blocks[1].parent = 5; }), "comes later"));
}

// 64 GiB, if they were computed.
TEST(LoadReferenceModel, HugeConstantsAreNotComputed) {
  ProgramDesc p = Sample();
  auto& ops = p.blocks[0].ops;
  OpDesc fill = ops[5];
  fill.outputs = {{"Out", {"huge"}}};
  fill.attributes["shape"].value = std::vector<int64_t>{int64_t{1} << 33};
  OpDesc most{"reduce_max", {{"X", {"huge"}}}, {{"Out", {"most"}}}, {}};
  OpDesc sized = ops[5];
  sized.inputs = {{"ShapeTensorList", {"most"}}};
  sized.outputs = {{"Out", {"sized"}}};
  ops.insert(ops.begin(), {fill, most, sized});
  ops.push_back(FetchOp("sized", 2));
  const auto m = ParseReferenceModel(SerializeProgramDesc(p), Parameters());
  EXPECT_TRUE(m.ok()) << m.status();
}

TEST(LoadReferenceModel, TruncatedAtEachByte) {
  const std::string program = SerializeProgramDesc(Sample());
  const std::string parameters = Parameters();
  for (size_t n = 0; n < program.size(); ++n) {
    // (Behind the last block a version may follow, or not.)
    const auto m = ParseReferenceModel(program.substr(0, n), parameters);
    if (m.ok()) {
      EXPECT_GE(n + 8, program.size());
    } else {
      EXPECT_FALSE(m.status().message().empty());
    }
  }
  for (size_t n = 0; n < parameters.size(); ++n) {
    const auto m = ParseReferenceModel(program, parameters.substr(0, n));
    ASSERT_FALSE(m.ok());
    EXPECT_NE(m.status().message().find("parameters: byte"),
              absl::string_view::npos);
  }
  EXPECT_FALSE(ParseReferenceModel(program, parameters + "x").ok());
}

TEST(LoadReferenceModel, MutantsAreErrorsOrPrograms) {
  const std::string program = SerializeProgramDesc(Sample());
  const std::string parameters = Parameters();
  std::mt19937 random(7);
  int good = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string p = program, w = parameters;
    std::string& s = i % 4 == 0 ? w : p;
    for (uint32_t k = random() % 3 + 1; k > 0; --k) {
      const size_t at = random() % s.size();
      switch (random() % 4) {
        case 0:
          s[at] = static_cast<char>(random());
          break;
        case 1:
          s[at] = static_cast<char>(s[at] ^ (1 << random() % 8));
          break;
        case 2:
          s.erase(at, random() % 9);
          break;
        default:
          s.insert(at, s.substr(random() % s.size(), random() % 9));
      }
      if (s.empty()) s = "x";
    }
    good += ParseReferenceModel(p, w).ok();  // whatever: no crash, no hang
  }
  EXPECT_GT(good, 100);
  EXPECT_LT(good, 9000);
}

// Each number of such a list is an operation, and a file may ask for any.
TEST(Rules, ListsOfNumbersAreShort) {
  const RuleText text{
      "some.rules",
      "many(X; first, end) -> Out: concat([X for i in range(first, end)], 0)"};
  const RuleBook book = ParseRules({&text, 1});
  const auto import = [&](int64_t first, int64_t end) {
    ProgramDesc p;
    p.blocks.resize(1);
    p.blocks[0].vars = {Variable("x", {2}), Variable("y", {-1})};
    OpDesc many{"many", {{"X", {"x"}}}, {{"Out", {"y"}}}, {}};
    many.attributes["first"] = Number(first, AttributeKind::kLong);
    many.attributes["end"] = Number(end, AttributeKind::kLong);
    p.blocks[0].ops = {FeedOp("x", 0), many, FetchOp("y", 0)};
    return Import(
        p, [](const std::string&) { return Tensor(); }, Training::kIgnored,
        book);
  };
  const Module three = import(-1, 2);
  EXPECT_EQ(three.program->value(three.outputs[0]).meta.shape, Shape({6}));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [first, end] : {std::pair<int64_t, int64_t>{0, 1 << 20},
                                   {-2, kMost},
                                   {-kMost, kMost}}) {
    try {
      import(first, end);
      ADD_FAILURE() << first << " to " << end;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("too long"), std::string::npos)
          << e.what();
    }
  }
}

// Found by changed programs: std::bad_variant_access.
TEST(Rules, AttributesOfAnotherKind) {
  ProgramDesc p;
  p.blocks.resize(1);
  p.blocks[0].vars = {Variable("x", {2}), Variable("y", {2})};
  OpDesc shrink{"hard_shrink", {{"X", {"x"}}}, {{"Out", {"y"}}}, {}};
  shrink.attributes["threshold"] = {AttributeKind::kInts,
                                    std::vector<int64_t>{1, 2}};
  p.blocks[0].ops = {FeedOp("x", 0), shrink, FetchOp("y", 0)};
  try {
    Import(p, [](const std::string&) { return Tensor(); });
    ADD_FAILURE() << "a list was taken for a number";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("hard_shrink"), std::string::npos);
  }
}

TEST(Rules, EachIsKnown) { EXPECT_GE(KnownTypes().size(), 300u); }

}  // namespace
}  // namespace proa::inline v0::jit::reference
