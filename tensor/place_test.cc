#include "tensor/place.h"

#include <gtest/gtest.h>

#include <string>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

TEST(Place, Text) {
  EXPECT_EQ(ToString(Place{}), "cpu");
  EXPECT_EQ(ToString(Place{DeviceKind::kGPU, 1}), "gpu:1");
  EXPECT_EQ(ParsePlace("cpu"), Place{});
  EXPECT_EQ(ParsePlace("cpu:0"), Place{});
  EXPECT_EQ(ParsePlace("gpu"), (Place{DeviceKind::kGPU, 0}));
  EXPECT_EQ(ParsePlace("gpu:12"), (Place{DeviceKind::kGPU, 12}));
}

TEST(Place, BadText) {
  for (const char* text :
       {"", ":", "cpu:", "cpu:1", "gpu:", "gpu:-1", "gpu:x", "gpu:1 ",
        "gpu:1:2", "gpu:99999999999", "tpu", "CPU"}) {
    EXPECT_THROW(ParsePlace(text), Error) << text;
  }
  try {
    ParsePlace("tpu:0");
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "place: 'tpu:0' names no known device; known are cpu, gpu");
  }
}

TEST(Place, CustomKinds) {
  EXPECT_EQ(DeviceKindName(DeviceKind::kFirstCustom), "custom2");
  const DeviceKind npu = AddDeviceKind("npu");
  EXPECT_EQ(npu, DeviceKind::kFirstCustom);
  EXPECT_EQ(AddDeviceKind("npu"), npu);
  EXPECT_EQ(AddDeviceKind("gpu"), DeviceKind::kGPU);
  EXPECT_EQ(ParsePlace("npu:3"), (Place{npu, 3}));
  EXPECT_EQ(ToString(Place{npu, 3}), "npu:3");
  EXPECT_THROW(AddDeviceKind(""), Error);
  EXPECT_THROW(AddDeviceKind("Npu"), Error);
  EXPECT_THROW(AddDeviceKind("a:b"), Error);
  for (int i = 3; i < kMaxDeviceKinds; ++i)
    AddDeviceKind("k" + std::to_string(i));
  EXPECT_THROW(AddDeviceKind("onemore"), Error);
}

}  // namespace
}  // namespace proa::inline v0
