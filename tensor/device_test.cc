#include "tensor/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "tensor/cpu_runtime.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

TEST(Device, TheCpuIsThere) {
  DeviceRuntime& rt = RuntimeOf(Place{});
  EXPECT_EQ(&rt, &CpuRuntime());
  EXPECT_EQ(FindDeviceRuntime(DeviceKind::kCPU), &rt);
  EXPECT_EQ(rt.device_count(), 1);
  EXPECT_TRUE(rt.synchronous());
  EXPECT_FALSE(rt.DeviceDescription(0).empty());
  EXPECT_EQ(&rt.allocator(0), &CpuAllocator());
  Synchronize(Place{});
}

TEST(Device, OthersAreNot) {
  EXPECT_EQ(FindDeviceRuntime(DeviceKind::kGPU), nullptr);
  EXPECT_EQ(FindDeviceRuntime(static_cast<DeviceKind>(200)), nullptr);
  try {
    RuntimeOf(Place{DeviceKind::kGPU, 0});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(e.what()).find("gpu:0 has no runtime"),
              std::string::npos);
  }
  EXPECT_THROW(RuntimeOf(Place{DeviceKind::kCPU, 1}), Error);
  EXPECT_THROW(RuntimeOf(Place{DeviceKind::kCPU, -1}), Error);
  EXPECT_THROW(Synchronize(Place{DeviceKind::kGPU, 0}), Error);
}

TEST(Device, TheCpuHasOneRuntimeOnly) {
  EXPECT_THROW(RegisterDeviceRuntime("cpu", nullptr), Error);
}

TEST(CpuRuntime, Copies) {
  DeviceRuntime& rt = CpuRuntime();
  char a[8] = "abcdefg", b[8] = "", c[8] = "";
  rt.CopyToDevice(0, b, a, 8, nullptr);
  rt.CopyOnDevice(0, c, b, 8, nullptr);
  rt.CopyToHost(0, b, c, 8, nullptr);
  EXPECT_STREQ(b, "abcdefg");
  rt.CopyPeer(0, c, 0, a, 8);
  EXPECT_STREQ(c, "abcdefg");
  rt.Fill(0, b, 'x', 3, nullptr);
  EXPECT_STREQ(b, "xxxdefg");
  rt.CopyToDevice(0, nullptr, nullptr, 0, nullptr);
  rt.Fill(0, nullptr, 1, 0, nullptr);
  int called = 0;
  rt.LaunchHostFunction(
      0, nullptr, [](void* n) { ++*static_cast<int*>(n); }, &called);
  EXPECT_EQ(called, 1);
}

TEST(CpuRuntime, StreamsAndEvents) {
  DeviceRuntime& rt = CpuRuntime();
  const StreamHandle stream = rt.CreateStream(0);
  EXPECT_NE(stream, nullptr);
  const EventHandle a = rt.CreateEvent(0), b = rt.CreateEvent(0);
  EXPECT_THROW(rt.ElapsedMs(0, a, b), Error);
  rt.RecordEvent(0, a, stream);
  rt.StreamWaitEvent(0, nullptr, a);
  rt.RecordEvent(0, b, nullptr);
  EXPECT_TRUE(rt.EventDone(0, b));
  rt.SynchronizeEvent(0, b);
  EXPECT_GE(rt.ElapsedMs(0, a, b), 0);
  rt.SetCurrentStream(0, stream);
  EXPECT_EQ(rt.current_stream(0), stream);
  rt.SetCurrentStream(0, nullptr);
  rt.SynchronizeStream(0, stream);
  rt.DestroyEvent(0, a);
  rt.DestroyEvent(0, b);
  rt.DestroyStream(0, stream);
}

}  // namespace
}  // namespace proa::inline v0
