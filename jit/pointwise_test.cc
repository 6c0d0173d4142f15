#include "jit/pointwise.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "jit/pass.h"
#include "jit/program_for_test.h"
#include "jit/verify.h"
#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::jit {
namespace {

Tensor Ramp(const Shape& shape, float step = 1e-5f) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data<float>()[i] = static_cast<float>(i % 1000) * step - 0.3f;
  }
  return t;
}

std::optional<Tiling> Tiles(std::initializer_list<Shape> shapes) {
  std::vector<Tensor> inputs;
  for (const Shape& s : shapes) {
    inputs.push_back(Tensor::Empty(s, DType::kFloat32));
  }
  return TilingOf(inputs);
}

TEST(TilingOf, CutsAlongTheDimsThatAllInputsShareOrLack) {
  struct Case {
    std::initializer_list<Shape> shapes;
    int prefix;
    int64_t count, row;
  };
  for (const Case& c : std::initializer_list<Case>{
           {{{6000, 200}}, 2, 1200000, 1},
           {{{6000, 200}, {}}, 2, 1200000, 1},
           {{{6000, 200}, {1, 1}}, 2, 1200000, 1},
           {{{1, 1200000}, {1200000}}, 2, 1200000, 1},
           {{{6000, 200}, {200}}, 1, 6000, 200},
           {{{6000, 200}, {1, 200}}, 1, 6000, 200},
           {{{6000, 200}, {6000, 1}}, 1, 6000, 200},
           {{{6000, 1}, {1, 200}}, 1, 6000, 200},
           {{{600, 10, 200}, {600, 10, 1}, {200}}, 2, 6000, 200},
           {{{600, 10, 200}, {10, 1}}, 1, 600, 2000},
           {{{600, 10, 200}, {600, 1, 200}}, 1, 600, 2000}}) {
    const std::optional<Tiling> t = Tiles(c.shapes);
    ASSERT_TRUE(t.has_value());
    EXPECT_EQ(t->prefix, c.prefix);
    EXPECT_EQ(t->count, c.count);
    EXPECT_EQ(t->row, c.row);
    EXPECT_GE(t->rows, 1);
  }
}

TEST(TilingOf, LeavesOutWhatIsNotWorthItOrDoesNotFit) {
  EXPECT_FALSE(Tiles({{}}));
  EXPECT_FALSE(Tiles({{0, 10000000}}));
  EXPECT_TRUE(Tiles({{512, 512}}));
  EXPECT_FALSE(Tiles({{512, 511}}));                     // small
  EXPECT_FALSE(Tiles({{1, 2000000}, {1, 1, 2000001}}));  // shapes that differ
  EXPECT_FALSE(Tiles({{2000, 3000}, {2000, 1}, {1, 3000}, {3000, 1}}));
  EXPECT_FALSE(Tiles({{8, 3, 300, 300}, {3, 1, 1}}));  // long rows
  const Tensor x = Tensor::Empty({3000, 2000}, DType::kFloat32);
  const Tensor turned = x.AsStrided({2000, 3000}, Strides{1, 2000}, 0);
  EXPECT_FALSE(TilingOf({{turned}}));
}

// Elements of a dtype that `op` takes, within the domain of every function.
Tensor Elements(const OpDefinition& op, int64_t n) {
  for (const DType dtype :
       {DType::kFloat32, DType::kInt32, DType::kBool, DType::kComplex64}) {
    if ((op.dtypes >> static_cast<int>(dtype) & 1) == 0) continue;
    Tensor t = Tensor::Empty({n}, dtype);
    for (int64_t i = 0; i < n; ++i) {
      const float value = 0.05f + 0.9f * static_cast<float>(i % 997) / 997;
      switch (dtype) {
        case DType::kFloat32:
          t.data<float>()[i] = value;
          break;
        case DType::kInt32:
          t.data<int32_t>()[i] = static_cast<int32_t>(1 + i % 5);
          break;
        case DType::kBool:
          t.data<bool>()[i] = i % 3 == 0;
          break;
        default:
          t.data<complex64>()[i] = complex64(value, 1 - value);
      }
    }
    return t;
  }
  return {};
}

Tensor CallOn(const OpDefinition& op, const Tensor& x) {
  std::vector<Value> args;
  for (const ParamInfo& p : op.params) {
    if (p.type == ParamType::kTensor) {
      args.emplace_back(x);
    } else if (p.default_value != nullptr) {
      args.push_back(p.default_value());
    } else if (p.type == ParamType::kDType) {
      args.emplace_back(DType::kFloat64);
    } else {
      args.emplace_back(int64_t{1});
    }
  }
  Value result;
  op.call(args, {&result, 1});
  return std::get<Tensor>(result);
}

// What an element becomes does not depend on where its tile begins and ends.
TEST(Pointwise, EveryOpGivesTheSameBitsInPieces) {
  constexpr int64_t kCount = 3000;
  int ops = 0;
  for (const OpDefinition* op : AllOps()) {
    if (op->fuse != FuseClass::kPointwise || (op->traits & kTraitInplace) != 0)
      continue;
    const Tensor x = Elements(*op, kCount);
    ASSERT_TRUE(x.defined()) << op->name;
    SCOPED_TRACE(op->name);
    const Tensor whole = CallOn(*op, x);
    ASSERT_EQ(whole.numel(), kCount);
    const int64_t item = ItemSize(whole.dtype());
    for (const int64_t cut : {1, 5, 1024, 2993}) {
      for (const auto& [begin, end] :
           {std::pair{int64_t{0}, cut}, std::pair{cut, kCount}}) {
        const Tensor piece =
            CallOn(*op, x.AsStrided({end - begin}, Strides{1}, begin));
        EXPECT_EQ(
            std::memcmp(piece.raw_data(),
                        static_cast<char*>(whole.raw_data()) + begin * item,
                        static_cast<size_t>((end - begin) * item)),
            0)
            << "cut at " << cut;
      }
    }
    ++ops;
  }
  EXPECT_GT(ops, 100);
}

constexpr char kChain[] =
    "  %0 = input \"x\" : [?, 300] float32\n"
    "  %1 = input \"mean\" : [?, 1] float32\n"
    "  %2 = input \"bias\" : [300] float32\n"
    "  %3 = subtract(%0, %1) : [?, 300] float32\n"
    "  %4 = tanh(%3) : [?, 300] float32\n"
    "  %5 = multiply(%4, %2) : [?, 300] float32\n"
    "  %6 = greater_than(%5, %3) : [?, 300] bool\n";

// The chain as one operation: names of dims are the recorder's, so the region
// is written out.
constexpr char kFused[] =
    "  %0 = input \"x\" : [?, 300] float32\n"
    "  %1 = input \"mean\" : [?, 1] float32\n"
    "  %2 = input \"bias\" : [300] float32\n"
    "  (%10, %11) = pointwise([%0, %1, %2]) {\n"
    "    %3 = argument : [?, 300] float32\n"
    "    %4 = argument : [?, 1] float32\n"
    "    %5 = argument : [300] float32\n"
    "    %6 = subtract(%3, %4) : [?, 300] float32\n"
    "    %7 = tanh(%6) : [?, 300] float32\n"
    "    %8 = multiply(%7, %5) : [?, 300] float32\n"
    "    %9 = greater_than(%8, %6) : [?, 300] bool\n"
    "    return %8, %9\n"
    "  } : [?, 300] float32, [?, 300] bool\n";

TEST(Pointwise, GivesTheBitsOfTheOperationsOneByOne) {
  const Executor one_by_one(*Parse(kChain), {5, 6}, Changes::kAll, {});
  const Executor fused(*Parse(kFused), {10, 11}, Changes::kAll, {});
  for (const int64_t rows : {0, 1, 7, 3495, 3496, 3511, 4001}) {
    const Tensor x = Ramp({rows, 300}), mean = Ramp({rows, 1}),
                 bias = Ramp({300}, 0.01f);
    const std::pair<ValueId, Tensor> feeds[] = {{0, x}, {1, mean}, {2, bias}};
    const auto want = one_by_one.Run(feeds), found = fused.Run(feeds);
    for (int k = 0; k < 2; ++k) {
      ASSERT_EQ(found[k].shape(), want[k].shape());
      ASSERT_EQ(found[k].dtype(), want[k].dtype());
      ASSERT_EQ(std::memcmp(found[k].raw_data(), want[k].raw_data(),
                            static_cast<size_t>(want[k].bytes())),
                0)
          << rows;
    }
  }
}

// The caller may hold a lock that the check takes (Python's).
TEST(Pointwise, PiecesOfALoopDoNotAskForInterrupts) {
  static thread_local bool caller = false;
  caller = true;
  InstallInterruptCheck([] { EXPECT_TRUE(caller); });
  const Executor fused(*Parse(kFused), {10, 11}, Changes::kAll, {});
  const std::pair<ValueId, Tensor> feeds[] = {
      {0, Ramp({20000, 300})}, {1, Ramp({20000, 1})}, {2, Ramp({300})}};
  for (int i = 0; i < 4; ++i) fused.Run(feeds);
  InstallInterruptCheck(nullptr);
}

TEST(Pointwise, ErrorsOfOpsNameTheOperation) {
  const Executor fused(*Parse(kFused), {10, 11}, Changes::kAll, {});
  const std::pair<ValueId, Tensor> feeds[] = {
      {0, Ramp({4000, 300})}, {1, Ramp({3000, 1})}, {2, Ramp({300})}};
  try {
    fused.Run(feeds);
    FAIL() << "shapes that differ were taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("subtract"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
