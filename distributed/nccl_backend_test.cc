// Of what a machine without a GPU can see: that it links, what it says, and
// that no dtype or operation is forgotten. What it moves is backend_test's.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <string>

#include "distributed/backend.h"
#include "distributed/fold.h"
#include "distributed/nccl_types.h"
#include "distributed/thread_ranks.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::distributed {
namespace {

TEST(NcclBackend, HasANameForEachNumberAndOperation) {
  for (int d = 0; d < kNumDTypes; ++d) {
    for (int r = 0; r < 5; ++r) {
      const DType dtype{static_cast<uint8_t>(d)};
      const ReduceOp reduce{static_cast<uint8_t>(r)};
      const std::string what = std::string(Name(dtype)) + " " + Name(reduce);
      bool meant = true;
      try {
        RequireFoldable("test", reduce, dtype);
      } catch (const TypeError&) {
        meant = false;
      }
      const auto found = NcclReductionOf(reduce, dtype);
      // NCCL has no int16 and no products of complex numbers.
      const bool product =
          reduce == ReduceOp::kProd &&
          (dtype == DType::kComplex64 || dtype == DType::kComplex128);
      EXPECT_EQ(found.has_value(), meant && dtype != DType::kInt16 && !product)
          << what;
      if (!found) continue;
      int64_t bytes = 8;
      switch (found->type) {
        case ncclUint8:
        case ncclInt8:
          bytes = 1;
          break;
        case ncclFloat16:
        case ncclBfloat16:
          bytes = 2;
          break;
        case ncclInt32:
        case ncclFloat32:
          bytes = 4;
          break;
        default:
          break;
      }
      EXPECT_EQ(bytes * found->parts, static_cast<int64_t>(ItemSize(dtype)))
          << what;
    }
  }
}

TEST(NcclBackend, SaysWhatIsMissing) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) {
    GTEST_SKIP() << "there is a GPU";
  }
  const BackendFactory factory = FindBackend("nccl");
  const auto errors = RunLinked(2, true, [&](Fabric& fabric, Links& links) {
    const std::vector<int> members = {0, 1};
    factory({.fabric = fabric,
             .links = links,
             .members = members,
             .rank = fabric.rank(),
             .limit = Limit(1000)});
  });
  for (const std::string& said : errors) {
    EXPECT_NE(said.find("'nccl' needs an NVIDIA GPU"), std::string::npos)
        << said;
    EXPECT_NE(said.find("cudaGetDeviceCount: "), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace proa::distributed
