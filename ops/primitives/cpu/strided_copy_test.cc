#include "ops/primitives/cpu/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/primitives/cpu/streaming.h"
#include "tensor/parallel.h"

namespace proa {
namespace {

// Copies element by element.
template <typename T>
std::vector<T> Expected(const Shape& shape, const T* src,
                        const Strides& strides) {
  std::vector<T> out(shape.numel());
  for (int64_t k = 0; k < shape.numel(); ++k) {
    int64_t rest = k, at = 0;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      at += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    out[k] = src[at];
  }
  return out;
}

template <typename T>
void Check(const Shape& shape, const Strides& strides, int64_t offset = 0) {
  std::vector<T> src(1 << 20);
  for (size_t i = 0; i < src.size(); ++i)
    src[i] = static_cast<T>(i * 2654435761u >> 7);
  const std::vector<T> want = Expected(shape, src.data() + offset, strides);
  for (const bool stream : {false, true}) {
    ops::cpu::SetStreamBytes(stream ? 1 : 0);
    for (int threads : {1, 3}) {
      SetNumThreads(threads);
      std::vector<T> got(shape.numel());
      ops::cpu::StridedCopy(shape, sizeof(T), got.data(),
                            ContiguousStrides(shape), src.data() + offset,
                            strides);
      EXPECT_EQ(got, want) << ToString(shape) << " " << sizeof(T) << " bytes, "
                           << threads << " threads"
                           << (stream ? ", past the caches" : "");
    }
  }
  ops::cpu::SetStreamBytes(0);
}

template <typename T>
void CheckAll() {
  Check<T>({}, {});
  Check<T>({0, 3}, {3, 1});
  Check<T>({1000, 1000}, {1000, 1});           // all contiguous
  Check<T>({1000, 500}, {1000, 1});            // rows
  Check<T>({1000, 1000}, {1, 1000});           // transposed
  Check<T>({67, 130}, {1, 67});                // transposed, parts of tiles
  Check<T>({67, 192}, {1, 67});                // to whole cache lines
  Check<T>({3, 129, 70}, {129 * 70, 1, 129});  // planes
  Check<T>({129, 4, 70}, {1, 129 * 70, 129});
  Check<T>({5, 3, 2}, {1, 5, 15});
  Check<T>({500, 700}, {0, 1});  // broadcast
  Check<T>({500, 700}, {1, 0});
  Check<T>({300, 300}, {600, 2});    // every second
  Check<T>({200000}, {-1}, 199999);  // reversed
  Check<T>({300, 300}, {-300, -1}, 89999);
  Check<T>({40, 50, 60}, {-1, 40, 2000}, 39);
}

// Images with their channels anywhere before and after.
template <typename T>
void CheckPixels() {
  for (int64_t channels = 1; channels <= 9; ++channels) {
    const int64_t sizes[] = {97, 301, channels};
    const int64_t strides[] = {301 * channels, channels, 1};
    std::array<int, 3> order = {0, 1, 2};
    do {
      const auto [a, b, c] = order;
      Check<T>({sizes[a], sizes[b], sizes[c]},
               {strides[a], strides[b], strides[c]}, 3);
      // Some of the channels; every second row from the last one.
      Check<T>({sizes[a], sizes[b], sizes[c]},
               {2 * strides[a], strides[b], strides[c]});
      Check<T>({2, sizes[b], sizes[c]}, {-strides[a], strides[b], strides[c]},
               strides[a]);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(StridedCopyTest, Pixels) {
  CheckPixels<uint8_t>();
  CheckPixels<uint16_t>();
  CheckPixels<uint32_t>();
  CheckPixels<uint64_t>();
}

TEST(StridedCopyTest, Bytes1) { CheckAll<uint8_t>(); }
TEST(StridedCopyTest, Bytes2) { CheckAll<uint16_t>(); }
TEST(StridedCopyTest, Bytes4) { CheckAll<uint32_t>(); }
TEST(StridedCopyTest, Bytes8) { CheckAll<uint64_t>(); }

TEST(StridedCopyTest, Bytes16) {
  const Shape shape{70, 33};
  std::vector<std::pair<uint64_t, uint64_t>> src(70 * 33), got(70 * 33);
  for (size_t i = 0; i < src.size(); ++i) src[i] = {i, ~i};
  const Strides strides{1, 70};
  ops::cpu::StridedCopy(shape, 16, got.data(), ContiguousStrides(shape),
                        src.data(), strides);
  EXPECT_EQ(got, Expected(shape, src.data(), strides));
}

// Past the caches, to lines that begin anywhere.
template <typename T>
void CheckLargeTransposition(int64_t rows, int64_t columns) {
  std::vector<T> src(rows * columns);
  for (size_t i = 0; i < src.size(); ++i)
    src[i] = static_cast<T>(i * 2654435761u >> 7);
  for (const int64_t first : {0, 1, 5}) {
    std::vector<T> got(rows * columns + first);
    ops::cpu::StridedCopy({columns, rows}, sizeof(T), got.data() + first,
                          {rows, 1}, src.data(), {1, columns});
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        wrong += got[first + j * rows + i] != src[i * columns + j];
      }
    }
    EXPECT_EQ(wrong, 0) << rows << " x " << columns << " of " << sizeof(T)
                        << " bytes";
  }
}

TEST(StridedCopyTest, LargeTranspositions) {
  CheckLargeTransposition<uint8_t>(4160, 4099);
  CheckLargeTransposition<uint16_t>(2080, 4200);
  CheckLargeTransposition<uint32_t>(2048, 2056);
  CheckLargeTransposition<uint32_t>(1999, 2111);
  CheckLargeTransposition<uint64_t>(1024, 2050);
}

TEST(StridedCopyTest, WritesStrided) {
  std::vector<int32_t> src(6), dst(12, -1);
  for (int i = 0; i < 6; ++i) src[i] = i;
  ops::cpu::StridedCopy({2, 3}, 4, dst.data(), {6, 2}, src.data(), {3, 1});
  EXPECT_EQ(dst,
            (std::vector<int32_t>{0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1}));
}

TEST(StridedCopyTest, Fill) {
  const Tensor t = Tensor::Empty({100001}, DType::kFloat16);
  ops::cpu::Fill(t, Scalar(1.5));
  EXPECT_EQ(static_cast<float>(t.data<float16>()[0]), 1.5f);
  EXPECT_EQ(static_cast<float>(t.data<float16>()[100000]), 1.5f);
  ops::cpu::Zero(t);
  EXPECT_EQ(static_cast<float>(t.data<float16>()[100000]), 0.f);
}

}  // namespace
}  // namespace proa
