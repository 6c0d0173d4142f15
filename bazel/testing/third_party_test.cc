// Each library of third_party compiles, links and does one thing.
#include <omp.h>

#include <numeric>
#include <string>
#include <vector>

#include "Eigen/Dense"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "bazel/testing/note.pb.h"
#include "dnnl.hpp"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace proa {
namespace {

TEST(ThirdParty, Abseil) {
  absl::flat_hash_map<std::string, int> map = {{"a", 1}};
  EXPECT_EQ(map["a"], 1);
  EXPECT_EQ(absl::InvalidArgumentError(absl::StrFormat("%d!", 7)).message(),
            "7!");
}

TEST(ThirdParty, Eigen) {
  Eigen::Matrix2f m;
  m << 1, 2, 3, 4;
  EXPECT_FLOAT_EQ(m.determinant(), -2);
}

TEST(ThirdParty, Protobuf) {
  testing::Note inner, note, copy;
  note.set_text("hello");
  note.mutable_more()->PackFrom(inner);
  ASSERT_TRUE(copy.ParseFromString(note.SerializeAsString()));
  EXPECT_EQ(copy.text(), "hello");
}

TEST(ThirdParty, Glog) { EXPECT_DEATH(CHECK_EQ(1, 2), "Check failed: 1 == 2"); }

TEST(ThirdParty, Gmock) {
  EXPECT_THAT((std::vector<int>{1, 2}), ::testing::ElementsAre(1, 2));
}

TEST(ThirdParty, OpenMp) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "libgomp is not instrumented, its barriers are invisible";
#endif
  std::vector<int> ran(4);
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 4; ++i) ran[i] = 1;
  EXPECT_EQ(std::accumulate(ran.begin(), ran.end(), 0), 4);
  EXPECT_GE(omp_get_max_threads(), 1);
}

TEST(ThirdParty, OneDnn) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::memory::desc desc({2}, dnnl::memory::data_type::f32,
                          dnnl::memory::format_tag::a);
  dnnl::memory memory(desc, engine);
  EXPECT_EQ(memory.get_desc().get_size(), 8u);
}

}  // namespace
}  // namespace proa
