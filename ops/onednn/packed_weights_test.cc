#include "ops/onednn/packed_weights.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "ops/onednn/pack_at_once.h"
#include "ops/onednn/reorders.h"
#include "tensor/dlpack.h"
#include "tensor/file_memory.h"
#include "tensor/storage.h"

namespace proa::inline v0::onednn {
namespace {

using tag = dnnl::memory::format_tag;

// [2, 3] by columns.
PackFormat ByColumns(int64_t flip = 1) {
  const auto f32 = dnnl::memory::data_type::f32;
  return {{{2, 3}, f32, tag::ab}, {{2, 3}, f32, tag::ba}, flip};
}

Tensor Weight() {
  Tensor t = Tensor::Empty({2, 3}, DType::kFloat32);
  for (int i = 0; i < 6; ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

int64_t Packed() { return GetReorderCounts().weights; }

TEST(PackedWeightsTest, KeepsWhatIsUsedTwice) {
  const int64_t kept = CountKeptWeights(), packed = Packed();
  {
    const Tensor w = Weight();
    for (int i = 0; i < 5; ++i) {
      const PackedWeights p(w, ByColumns());
      EXPECT_EQ(static_cast<float*>(p.data())[1], 3.f);
    }
    EXPECT_EQ(Packed(), packed + 2);
    EXPECT_EQ(CountKeptWeights(), kept + 1);
    // A change is seen.
    w.data<float>()[3] = 7.f;
    w.storage()->BumpVersion();
    EXPECT_EQ(static_cast<float*>(PackedWeights(w, ByColumns()).data())[1],
              7.f);
    EXPECT_EQ(CountKeptWeights(), kept);
  }
  // Nothing outlives the weight.
  EXPECT_EQ(CountKeptWeights(), kept);
}

// Writes the elements from the last one on, times a parameter.
void PackBackwards(const Tensor& weight, const PackOrder& order, void* to) {
  const int64_t n = weight.numel();
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(to)[i] = weight.data<float>()[n - 1 - i] *
                                 static_cast<float>(order.parameters[0]);
}

TEST(PackedWeightsTest, OrdersOfAKernelAreToldApart) {
  const Tensor w = Weight();
  const PackOrder once{&PackBackwards, {1}, w.bytes()};
  const PackOrder twice{&PackBackwards, {2}, w.bytes()};
  const int64_t kept = CountKeptWeights(), packed = Packed();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<float*>(PackedWeights(w, once).data())[1], 4.f);
    EXPECT_EQ(static_cast<float*>(PackedWeights(w, twice).data())[1], 8.f);
    EXPECT_EQ(static_cast<float*>(PackedWeights(w, ByColumns()).data())[1],
              3.f);
  }
  EXPECT_EQ(Packed(), packed + 6);
  EXPECT_EQ(CountKeptWeights(), kept + 3);
}

TEST(PackedWeightsTest, TurnsTheInnerElementsRound) {
  const Tensor w = Weight();
  const PackedWeights p(w, ByColumns(3));
  // 2 1 0 / 5 4 3 by columns
  const float want[] = {2, 5, 1, 4, 0, 3};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(static_cast<float*>(p.data())[i], want[i]);
}

TEST(PackedWeightsTest, TheSameFormatIsTheWeightItself) {
  const Tensor w = Weight();
  const PackFormat same{ByColumns().from, ByColumns().from};
  EXPECT_EQ(PackedWeights(w, same).data(), w.raw_data());
}

TEST(PackedWeightsTest, WeightsInFilesAreKeptAtOnce) {
  const int64_t kept = CountKeptWeights(), packed = Packed();
  auto memory = std::make_shared<std::array<float, 6>>(
      std::array<float, 6>{0, 1, 2, 3, 4, 5});
  {
    const Tensor w = Tensor::FromStorage(
        FileStorage(memory->data(), sizeof(*memory), memory), DType::kFloat32,
        {2, 3}, {3, 1});
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(static_cast<float*>(PackedWeights(w, ByColumns()).data())[1],
                3.f);
    }
    EXPECT_EQ(Packed(), packed + 1);
    EXPECT_EQ(CountKeptWeights(), kept + 1);
  }
  EXPECT_EQ(CountKeptWeights(), kept);
}

TEST(PackedWeightsTest, WeightsThatPredictAreKeptAtOnce) {
  const int64_t kept = CountKeptWeights(), packed = Packed();
  {
    Tensor w = Weight();
    EXPECT_FALSE(Predicts(w));
    PackAtOnce(w);
    EXPECT_TRUE(Predicts(w));
    for (int i = 0; i < 3; ++i) PackedWeights(w, ByColumns());
    EXPECT_EQ(Packed(), packed + 1);
    EXPECT_EQ(CountKeptWeights(), kept + 1);
    // One that changes is packed anew.
    w.data<float>()[3] = 7;
    w.storage()->BumpVersion();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(static_cast<float*>(PackedWeights(w, ByColumns()).data())[1],
                7.f);
    }
  }
  EXPECT_EQ(CountKeptWeights(), kept);
}

TEST(PackedWeightsTest, RowsAreScaledWhileTheyArePacked) {
  const int64_t kept = CountKeptWeights();
  {
    const Tensor w = Weight();
    PackAtOnce(w);
    const Tensor scale = Tensor::Empty({2}, DType::kFloat64);
    scale.data<double>()[0] = 2;
    scale.data<double>()[1] = 10;
    PackFormat by_columns = ByColumns(), same = ByColumns();
    by_columns.scale = same.scale = scale;
    same.to = same.from;
    for (int i = 0; i < 2; ++i) {
      const PackedWeights turned(w, by_columns), as_it_is(w, same),
          plain(w, ByColumns());
      EXPECT_EQ(static_cast<float*>(turned.data())[1], 30.f);
      EXPECT_EQ(static_cast<float*>(as_it_is.data())[2], 4.f);
      EXPECT_EQ(static_cast<float*>(plain.data())[1], 3.f);
    }
    EXPECT_EQ(CountKeptWeights(), kept + 3);
    // Another scale, and one that changed.
    by_columns.scale = Tensor::Empty({2}, DType::kFloat64);
    by_columns.scale.data<double>()[0] = by_columns.scale.data<double>()[1] = 1;
    EXPECT_EQ(static_cast<float*>(PackedWeights(w, by_columns).data())[1], 3.f);
    scale.data<double>()[1] = 100;
    scale.storage()->BumpVersion();
    by_columns.scale = scale;
    by_columns.scale_version = scale.version();
    EXPECT_EQ(static_cast<float*>(PackedWeights(w, by_columns).data())[1],
              300.f);
  }
  EXPECT_EQ(CountKeptWeights(), kept);
}

TEST(PackedWeightsTest, MemoryOfOthersIsNotKept) {
  const int64_t kept = CountKeptWeights();
  float memory[6] = {0, 1, 2, 3, 4, 5};
  const Tensor w =
      Tensor::FromStorage(Storage::Wrap(memory, sizeof(memory), {}, [] {}),
                          DType::kFloat32, {2, 3}, {3, 1});
  for (int i = 0; i < 3; ++i) {
    memory[3] = static_cast<float>(i);
    EXPECT_EQ(static_cast<float*>(PackedWeights(w, ByColumns()).data())[1],
              static_cast<float>(i));
  }
  const Tensor exported = Weight();
  for (int i = 0; i < 3; ++i) PackedWeights(exported, ByColumns());
  auto* managed = ToDLPack(exported, false);
  exported.data<float>()[3] = 9.f;  // as the consumer would
  EXPECT_EQ(static_cast<float*>(PackedWeights(exported, ByColumns()).data())[1],
            9.f);
  managed->deleter(managed);
  EXPECT_LE(CountKeptWeights(), kept + 1);
}

}  // namespace
}  // namespace proa::inline v0::onednn
