// The core against a device that has memory of its own and works asynchronously
// (tensor/testing/async_device_plugin.cc).
#include "tensor/device_plugin.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/print.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

std::string Library(const std::string& name) {
  return "tensor/testing/" + name + ".so";
}

// Loaded once a process; "async" copies strided tensors itself, "plain" does
// not.
DeviceKind Kind(const std::string& name) {
  DeviceKind kind;
  if (FindDeviceKind(name, &kind)) return kind;
  return LoadDevicePlugin(Library(name + "_device_plugin"));
}

Tensor Range(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = i;
  return t;
}

void ExpectEqual(const Tensor& a, const Tensor& b) {
  const Tensor x = CopyTo(a, Place{}), y = CopyTo(b, Place{});
  ASSERT_EQ(x.shape(), y.shape());
  if (x.bytes() > 0) {  // memcmp may not see null
    EXPECT_EQ(std::memcmp(x.raw_data(), y.raw_data(), x.bytes()), 0);
  }
}

class PluginTest : public ::testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    for (int16_t i : {0, 1}) Synchronize({place_.kind, i});
    EXPECT_EQ(rt_.allocator(0).Figures().allocated, 0);
    EXPECT_EQ(rt_.allocator(1).Figures().allocated, 0);
  }
  const Place place_{Kind(GetParam()), 0};
  const Place second_{place_.kind, 1};
  DeviceRuntime& rt_ = RuntimeOf(place_);
};
INSTANTIATE_TEST_SUITE_P(Devices, PluginTest,
                         ::testing::Values("async", "plain"),
                         [](const auto& info) { return info.param; });

TEST_P(PluginTest, IsADeviceKind) {
  EXPECT_EQ(ToString(place_), GetParam() + ":0");
  EXPECT_EQ(ParsePlace(GetParam() + ":1"), second_);
  EXPECT_EQ(rt_.device_count(), 2);
  EXPECT_FALSE(rt_.synchronous());
  EXPECT_EQ(rt_.DeviceDescription(1), "asynchronous test device 1");
  EXPECT_THROW(RuntimeOf({place_.kind, 2}), Error);
  EXPECT_THROW(Tensor::Empty({2}, DType::kInt8, {place_.kind, 2}), Error);
}

TEST_P(PluginTest, HostsCannotReadItsMemory) {
  const Tensor t = Tensor::Empty({4}, DType::kFloat32, place_);
  ASSERT_NE(t.raw_data(), nullptr);
  EXPECT_DEATH(
      {
        volatile float x = *t.data<float>();
        std::exit(x == 1234);
      },
      "");
}

TEST_P(PluginTest, ThereAndBack) {
  for (const Shape& shape :
       {Shape({2, 3}), Shape(), Shape({0, 4}), Shape({1000, 99})}) {
    const Tensor x = Range(shape);
    const Tensor there = CopyTo(x, place_);
    EXPECT_EQ(there.place(), place_);
    const Tensor copy = CopyTo(there, place_);
    ExpectEqual(copy, x);
    ExpectEqual(CopyTo(copy, second_), x);
  }
  EXPECT_EQ(CopyTo(Tensor::Scalar(2.5f), place_).item<float>(), 2.5f);
  EXPECT_EQ(FormatElements(CopyTo(Range({3}), second_), {}), "[0., 1., 2.]");
}

TEST_P(PluginTest, StridedThereAndBack) {
  const Tensor x = Range({4, 5, 6});
  const Shape shape{6, 2, 5};
  const Strides strides{-1, 60, 6};
  const Tensor there = CopyTo(x, place_).AsStrided(shape, strides, 5);
  const Tensor here = x.AsStrided(shape, strides, 5);
  ExpectEqual(there, here);
  ExpectEqual(Contiguous(there), here);
  EXPECT_EQ(Contiguous(there).place(), place_);
  ExpectEqual(CopyTo(here, place_), here);
  ExpectEqual(CopyTo(there, second_), here);
  // Into strided tensors, from all sides; the rest of the memory stays.
  for (const Tensor& source :
       {Range({6, 2, 5}), CopyTo(Range({6, 2, 5}), place_),
        CopyTo(Range({6, 2, 5}), second_)}) {
    const Tensor device = CopyTo(x, place_), host = CopyTo(x, Place{});
    CopyInto(source, device.AsStrided(shape, strides, 5));
    CopyInto(source, host.AsStrided(shape, strides, 5));
    ExpectEqual(device, host);
  }
}

TEST_P(PluginTest, WorkIsAsynchronousAndOrdered) {
  // Each copy depends on the one before; nobody waits in between.
  Tensor t = CopyTo(Range({1000}), place_, /*blocking=*/false);
  for (int i = 0; i < 20; ++i) t = CopyTo(t, place_, /*blocking=*/false);
  const EventHandle event = rt_.CreateEvent(0);
  rt_.RecordEvent(0, event, rt_.current_stream(0));
  EXPECT_FALSE(rt_.EventDone(0, event));
  rt_.SynchronizeEvent(0, event);
  EXPECT_TRUE(rt_.EventDone(0, event));
  ExpectEqual(t, Range({1000}));
  rt_.DestroyEvent(0, event);
}

TEST_P(PluginTest, HostMemoryLastsUntilTheCopy) {
  Tensor there;
  {
    Tensor x = Range({300});
    there = CopyTo(x, place_, /*blocking=*/false);
  }
  // Would take the place of x if it were free.
  std::vector<Tensor> others;
  for (int i = 0; i < 5; ++i) {
    others.push_back(Tensor::Empty({300}, DType::kFloat32));
    std::memset(others.back().raw_data(), 0xff, 1200);
  }
  ExpectEqual(there, Range({300}));
  // The result of a copy to the host may be dropped before it arrives.
  for (int i = 0; i < 5; ++i) CopyTo(there, Place{}, /*blocking=*/false);
  Tensor back = CopyTo(there, Place{}, /*blocking=*/false);
  Synchronize(place_);
  ExpectEqual(back, Range({300}));
}

TEST_P(PluginTest, FreedMemoryIsReusedInOrder) {
  // The block of `a` is free, and taken by `c`, while the copy from it still
  // waits.
  Tensor a = CopyTo(Range({5000}), place_);
  void* block = a.raw_data();
  const Tensor b = CopyTo(a, place_, /*blocking=*/false);
  a = Tensor();
  const Tensor zeros = Tensor::Empty({5000}, DType::kFloat32, place_);
  EXPECT_EQ(zeros.raw_data(), block);
  rt_.Fill(0, zeros.raw_data(), 0, zeros.bytes(), rt_.current_stream(0));
  ExpectEqual(b, Range({5000}));
}

TEST_P(PluginTest, ANewCurrentStreamComesAfterTheOldOne) {
  const StreamHandle stream = rt_.CreateStream(0);
  for (int repeat = 0; repeat < 5; ++repeat) {
    Tensor t = CopyTo(Range({2000}), place_, /*blocking=*/false);
    for (int i = 0; i < 5; ++i) t = CopyTo(t, place_, /*blocking=*/false);
    rt_.SetCurrentStream(0, stream);
    t = CopyTo(t, place_, /*blocking=*/false);
    rt_.SetCurrentStream(0, nullptr);
    ExpectEqual(t, Range({2000}));
  }
  rt_.DestroyStream(0, stream);
}

// A stream of its own for another thread, which stands before the test's work
// does, so that nothing but the allocator orders the two.
class OtherThread {
 public:
  OtherThread(DeviceRuntime& rt, Place place, std::function<void()> work)
      : rt_(rt), stream_(rt.CreateStream(place.index)) {
    std::promise<void> ready;
    thread_ = std::thread(
        [this, place, &ready, work = std::move(work), go = go_.get_future()] {
          const StreamScope scope(place, stream_);
          ready.set_value();
          go.wait();
          work();
        });
    ready.get_future().wait();
  }
  void Run() {
    go_.set_value();
    thread_.join();
    rt_.DestroyStream(0, stream_);
  }

 private:
  DeviceRuntime& rt_;
  const StreamHandle stream_;
  std::promise<void> go_;
  std::thread thread_;
};

TEST_P(PluginTest, AThreadHasItsOwnStream) {
  StreamHandle seen = nullptr, shared = nullptr;
  std::thread before([&] { shared = rt_.current_stream(0); });
  before.join();
  OtherThread other(rt_, place_, [&] {
    seen = rt_.current_stream(0);
    EXPECT_EQ(rt_.current_stream(1), nullptr);
  });
  EXPECT_EQ(rt_.current_stream(0), shared);
  other.Run();
  EXPECT_NE(seen, nullptr);
  EXPECT_EQ(rt_.current_stream(0), shared);
}

TEST_P(PluginTest, AFreedBlockGoesToAnotherStreamAfterItsWork) {
  rt_.allocator(0).Release();
  void* block = nullptr;
  Tensor zeros;
  OtherThread other(rt_, place_, [&] {
    zeros = Tensor::Empty({5000}, DType::kFloat32, place_);
    EXPECT_EQ(zeros.raw_data(), block);
    rt_.Fill(0, zeros.raw_data(), 0, zeros.bytes(), rt_.current_stream(0));
  });
  Tensor a = CopyTo(Range({5000}), place_);
  block = a.raw_data();
  std::vector<Tensor> late;  // keep the stream busy before the copy that counts
  for (int i = 0; i < 10; ++i) {
    late.push_back(CopyTo(Range({10}), place_, /*blocking=*/false));
  }
  const Tensor b = CopyTo(a, place_, /*blocking=*/false);
  a = Tensor();
  other.Run();
  ExpectEqual(b, Range({5000}));
}

TEST_P(PluginTest, ABlockThatAnotherStreamUsesIsReusedAfterThat) {
  rt_.allocator(0).Release();
  Tensor a = CopyTo(Range({5000}), place_);
  void* const block = a.raw_data();
  Tensor b;
  OtherThread other(rt_, place_, [&] {
    std::vector<Tensor> late;
    for (int i = 0; i < 10; ++i) {
      late.push_back(CopyTo(Range({10}), place_, /*blocking=*/false));
    }
    b = CopyTo(a, place_, /*blocking=*/false);
    a = Tensor();  // back to the stream of the test, which knows nothing of b
    const StreamScope back(place_, nullptr);
    const Tensor zeros = Tensor::Empty({5000}, DType::kFloat32, place_);
    EXPECT_EQ(zeros.raw_data(), block);
    rt_.Fill(0, zeros.raw_data(), 0, zeros.bytes(), nullptr);
  });
  other.Run();
  ExpectEqual(b, Range({5000}));
}

TEST_P(PluginTest, AScopeIsOrderedWithTheWorkAroundIt) {
  const StreamHandle stream = rt_.CreateStream(0);
  for (int repeat = 0; repeat < 5; ++repeat) {
    Tensor t = CopyTo(Range({2000}), place_, /*blocking=*/false);
    {
      const StreamScope scope(place_, stream);
      EXPECT_EQ(rt_.current_stream(0), stream);
      for (int i = 0; i < 5; ++i) t = CopyTo(t, place_, /*blocking=*/false);
      {
        const StreamScope inner(second_, nullptr);  // another device
        EXPECT_EQ(rt_.current_stream(0), stream);
      }
    }
    t = CopyTo(t, place_, /*blocking=*/false);
    ExpectEqual(t, Range({2000}));
  }
  rt_.DestroyStream(0, stream);
}

TEST_P(PluginTest, EventsMeasureTime) {
  const EventHandle a = rt_.CreateEvent(0), b = rt_.CreateEvent(0);
  EXPECT_THROW(rt_.ElapsedMs(0, a, b), Error);
  rt_.RecordEvent(0, a, nullptr);
  CopyTo(Range({10}), place_, /*blocking=*/false);
  rt_.RecordEvent(0, b, nullptr);
  rt_.SynchronizeEvent(0, b);
  EXPECT_GT(rt_.ElapsedMs(0, a, b), 0.1);
  rt_.DestroyEvent(0, a);
  rt_.DestroyEvent(0, b);
}

TEST_P(PluginTest, MemoryIsKeptAndBounded) {
  Allocator& allocator = rt_.allocator(0);
  allocator.Release();
  EXPECT_EQ(allocator.Figures().reserved, 0);
  { const Tensor t = Tensor::Empty({1 << 20}, DType::kFloat32, place_); }
  EXPECT_EQ(allocator.Figures().reserved, 4 << 20);
  try {
    Tensor::Empty({int64_t{1} << 30}, DType::kFloat32, place_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(
        std::string(e.what()).find(GetParam() + ":0: out of memory; asked for "
                                                "4.00 GiB"),
        std::string::npos)
        << e.what();
  }
  EXPECT_THROW(Tensor::Empty({INT64_MAX}, DType::kInt8, place_), Error);
}

TEST_P(PluginTest, FailuresOfThePluginAreErrors) {
  try {
    char host[4] = "";
    rt_.CopyToHost(0, host, host, 4, nullptr);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(GetParam() +
                  ": copy_to_host failed: copy_to_host: address outside of "
                  "the device",
              e.what());
  }
}

std::string ErrorOf(void (*f)()) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(DevicePlugin, BadFiles) {
  EXPECT_EQ(
      ErrorOf([] { LoadDevicePlugin("nowhere/plugin.so"); }),
      "device plugin: nowhere/plugin.so does not exist or cannot be read");
  const std::string text = std::string(std::getenv("TEST_TMPDIR")) + "/text.so";
  std::ofstream(text) << "no library";
  EXPECT_THROW(LoadDevicePlugin(text), Error);
  const std::string no_plugin =
      ErrorOf([] { LoadDevicePlugin(Library("no_plugin")); });
  EXPECT_NE(no_plugin.find("is no plugin"), std::string::npos) << no_plugin;
  Kind("async");
  const std::string again =
      ErrorOf([] { LoadDevicePlugin(Library("async_device_plugin")); });
  EXPECT_EQ(again, "device: 'async' has a runtime already");
}

TEST(DevicePlugin, BadTables) {
  ProaDevicePlugin p = {};
  p.struct_size = sizeof(p);
  p.abi_major = 2;
  try {
    RegisterDevicePlugin(p, "new.so");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "device plugin: new.so was built for version 2.0 of the plugin "
        "interface, and this is version 1.0; build it again");
  }
  p.abi_major = 1;
  EXPECT_THROW(RegisterDevicePlugin(p, "empty.so"), Error);
  p.struct_size = 16;
  EXPECT_THROW(RegisterDevicePlugin(p, "short.so"), Error);
}

}  // namespace
}  // namespace proa::inline v0
