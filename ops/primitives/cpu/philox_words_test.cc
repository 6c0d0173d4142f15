// Every instruction set gives the words of the stream, also where the counter
// runs over 32 bits.

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "ops/primitives/cpu/testing_kernels.h"
#include "tensor/philox.h"

namespace proa::inline v0::ops {
namespace {

TEST(PhiloxVectors, AreThoseOfTheStream) {
  for (const TestingKernels& k : AllTestingKernels()) {
    for (const uint64_t offset :
         {uint64_t{0}, uint64_t{0xfffffff0}, uint64_t{0x123456789abcde}}) {
      const PhiloxStream stream(0xfedcba9876543210, offset);
      for (const uint64_t block : {0, 7, 4096}) {
        std::vector<uint32_t> words(384);
        k.words(stream, block, 384, words.data());
        for (size_t i = 0; i < words.size(); ++i) {
          ASSERT_EQ(words[i], stream.Block(block + i / 4)[i % 4])
              << k.isa << " word " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
