// A backend of a device, with a device that has memory of its own and works
// asynchronously (tensor/testing): order of streams, what goes by the host,
// what is said of work that does not end.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "distributed/backend.h"
#include "distributed/process_group.h"
#include "distributed/thread_ranks.h"
#include "distributed/work.h"
#include "ops/collective/collective.h"
#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/device_plugin.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/place.h"
#include "tensor/tensor.h"

namespace proa::distributed {
namespace {

DeviceKind Kind() {
  static const DeviceKind kind =
      LoadDevicePlugin("tensor/testing/async_device_plugin.so");
  return kind;
}

// Where the ranks, threads of this process, meet while their streams wait.
class Board {
 public:
  // What all `n` ranks left under the key, when they have; empty if `stop`.
  std::map<int, std::vector<float>> Meet(const std::string& key, int rank,
                                         int n, std::vector<float> own,
                                         const std::atomic<bool>& stop) {
    std::unique_lock lock(mu_);
    auto& all = parts_[key];
    all[rank] = std::move(own);
    changed_.notify_all();
    while (static_cast<int>(all.size()) < n) {
      if (stop) return {};
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return all;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::map<std::string, std::map<int, std::vector<float>>> parts_;
};
Board& TheBoard() {
  static auto* board = new Board;
  return *board;
}

std::atomic<bool> stuck{false};  // ranks above 0 never do their part
std::atomic<int> moved{0};       // calls of MoveOnDevice
std::atomic<int> jobs{0};

// Sums of float32 and messages, by host functions on a stream of its own.
class FakeBackend final : public DeviceBackend {
 public:
  explicit FakeBackend(const BackendSetup& setup)
      : rank_(setup.rank),
        size_(static_cast<int>(setup.members.size())),
        stream_(RuntimeOf({Kind(), 0}).CreateStream(0)),
        messages_(RuntimeOf({Kind(), 0}).CreateStream(0)) {}
  ~FakeBackend() override {
    Abort();
    RuntimeOf({Kind(), 0}).DestroyStream(0, stream_);
    RuntimeOf({Kind(), 0}).DestroyStream(0, messages_);
  }

  const char* transport() const override { return "fake"; }
  bool Carries(const Place& place) const override {
    return place.kind == Kind();
  }
  bool Combines(ReduceOp reduce, DType dtype) const override {
    return reduce == ReduceOp::kSum && dtype == DType::kFloat32;
  }
  void Abort() override { stop_ = true; }

  void MoveOnDevice(const CollectiveCall& call, const std::vector<int64_t>&,
                    const std::vector<int64_t>&, DeviceTurn* turn,
                    const Watch&) override {
    ++moved;
    const bool message = call.kind != Collective::kAllReduce;
    const std::string key = (message ? "message " : "sum ") +
                            std::to_string(jobs) + "/" +
                            std::to_string(++count_);
    turn->Enqueue(message ? messages_ : stream_, [&](StreamHandle stream) {
      DeviceRuntime& rt = RuntimeOf(turn->place());
      auto* job = new Task{this, {}, key, message, call};
      const Tensor& given = call.in.defined() ? call.in : call.out;
      job->host.resize(given.numel());
      rt.CopyToHost(0, job->host.data(), given.raw_data(), given.bytes(),
                    stream);
      rt.LaunchHostFunction(0, stream, &Work, job);
      const Tensor& taken = call.out.defined() ? call.out : call.in;
      rt.CopyToDevice(0, const_cast<void*>(taken.raw_data()), job->host.data(),
                      taken.bytes(), stream);
      rt.LaunchHostFunction(
          0, stream, [](void* p) { delete static_cast<Task*>(p); }, job);
    });
  }

 private:
  struct Task {
    FakeBackend* self;
    std::vector<float> host;
    std::string key;
    bool message;
    CollectiveCall call;
  };
  static void Work(void* p) {
    Task& t = *static_cast<Task*>(p);
    FakeBackend& b = *t.self;
    if (stuck && b.rank_ > 0) return;
    const auto all = TheBoard().Meet(t.key, b.rank_, b.size_, t.host, b.stop_);
    if (t.message) {
      if (!all.empty() && t.call.kind == Collective::kReceive) {
        t.host = all.at(static_cast<int>(t.call.peer));
      }
      return;
    }
    std::fill(t.host.begin(), t.host.end(), 0.f);
    for (const auto& [rank, part] : all) {
      for (size_t i = 0; i < part.size(); ++i) t.host[i] += part[i];
    }
  }

  const int rank_;
  const int size_;
  const StreamHandle stream_;
  const StreamHandle messages_;
  std::atomic<int> count_{0};
  std::atomic<bool> stop_{false};
};

[[maybe_unused]] const bool registered = RegisterBackend(
    "fake", [](const BackendSetup& setup) -> std::unique_ptr<Backend> {
      return std::make_unique<FakeBackend>(setup);
    });

Tensor OnDevice(std::vector<float> values) {
  const Tensor t =
      Tensor::Empty({static_cast<int64_t>(values.size())}, DType::kFloat32);
  std::memcpy(t.raw_data(), values.data(), t.bytes());
  return CopyTo(t, {Kind(), 0});
}

std::vector<float> Values(const Tensor& t) {
  const Tensor host = Contiguous(CopyTo(t, Place()));
  const float* p = host.data<float>();
  return {p, p + host.numel()};
}

class OwnStream {
 public:
  OwnStream() : scope_(std::in_place, Place{Kind(), 0}, stream_) {}
  ~OwnStream() {
    scope_.reset();
    RuntimeOf({Kind(), 0}).DestroyStream(0, stream_);
  }

 private:
  const StreamHandle stream_ = RuntimeOf({Kind(), 0}).CreateStream(0);
  std::optional<StreamScope> scope_;
};

class DeviceBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    Kind();
    ++jobs;
    stuck = false;
    moved = 0;
  }
  static std::vector<std::string> Run(
      const std::function<void(ProcessGroup&)>& body,
      Limit limit = Limit(20000)) {
    return RunThreads(2, [&](std::shared_ptr<Fabric> fabric) {
      // Ranks of one process must not wait for each other in one stream.
      const OwnStream own;
      ProcessGroup group(
          fabric,
          {.id = 0, .members = {0, 1}, .limit = limit, .backend = "fake"});
      body(group);
      // Both are done before one leaves.
      group.Start({.kind = Collective::kBarrier}, true);
    });
  }
};

TEST_F(DeviceBackendTest, WorksBetweenWhatIsEnqueued) {
  ExpectNone(Run([](ProcessGroup& g) {
    const auto me = static_cast<float>(g.rank());
    EXPECT_STREQ(g.transport(), "fake");
    for (const bool wait : {true, false}) {
      const Tensor x = OnDevice({me + 1, me + 2, me + 3});
      const auto work =
          g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, wait);
      EXPECT_TRUE(work->Wait());
      const Tensor y = CopyTo(x, {Kind(), 1});  // enqueued behind it
      EXPECT_EQ(Values(y), (std::vector<float>{3, 5, 7}));
      EXPECT_TRUE(work->Wait(Limit(10000)));
      EXPECT_TRUE(work->IsDone());
    }
    EXPECT_EQ(g.recorder().Entries().size(), 2u);
  }));
  EXPECT_EQ(moved, 4);
}

TEST_F(DeviceBackendTest, StridedTensorsAndMessages) {
  ExpectNone(Run([](ProcessGroup& g) {
    const auto me = static_cast<float>(g.rank());
    const Tensor x = OnDevice({me, 9, me, 9, me, 9});
    const Tensor every = x.AsStrided({3}, {2}, 0);
    g.Start({.kind = Collective::kAllReduce, .in = every, .out = every}, true);
    EXPECT_EQ(Values(x), (std::vector<float>{1, 9, 1, 9, 1, 9}));
    const Tensor message = OnDevice({me + 5, 2});
    if (g.rank() == 0) {
      g.Start({.kind = Collective::kSend, .peer = 1, .in = message}, true);
    } else {
      g.Start({.kind = Collective::kReceive, .peer = 0, .out = message}, true);
    }
    EXPECT_EQ(Values(message), (std::vector<float>{5, 2}));
  }));
}

TEST_F(DeviceBackendTest, TheRestGoesByTheHost) {
  ExpectNone(Run([](ProcessGroup& g) {
    const auto me = static_cast<float>(g.rank());
    const Tensor host = Tensor::Empty({1}, DType::kFloat32);
    *host.data<float>() = me;
    g.Start({.kind = Collective::kAllReduce, .in = host, .out = host}, true);
    EXPECT_EQ(*host.data<float>(), 1.f);
    const Tensor x = OnDevice({me, 2 - me});
    g.Start({.kind = Collective::kAllReduce,
             .reduce = ReduceOp::kMax,
             .in = x,
             .out = x},
            true);
    EXPECT_EQ(Values(x), (std::vector<float>{1, 2}));
  }));
  EXPECT_EQ(moved, 0);
}

// A tensor of a device in a group that knows the host alone.
TEST_F(DeviceBackendTest, DefaultBackendTakesDevices) {
  ExpectNone(RunThreads(2, [](std::shared_ptr<Fabric> fabric) {
    ProcessGroup g(fabric, {.id = 0, .members = {0, 1}, .limit = Limit(20000)});
    const Tensor x = OnDevice({1, 2});
    const Tensor all = CopyTo(Tensor::Empty({4}, DType::kFloat32), {Kind(), 0});
    g.Start({.kind = Collective::kAllGather, .in = x, .out = all}, true);
    EXPECT_EQ(Values(all), (std::vector<float>{1, 2, 1, 2}));
    g.Start({.kind = Collective::kBarrier}, true);
  }));
}

TEST_F(DeviceBackendTest, PlacesMustAgree) {
  const auto errors = Run([](ProcessGroup& g) {
    const Tensor host = Tensor::Empty({2}, DType::kFloat32);
    std::memset(host.raw_data(), 0, host.bytes());
    const Tensor x = g.rank() == 0 ? OnDevice({1, 2}) : host;
    g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
  });
  for (const std::string& e : errors) {
    EXPECT_NE(e.find("rank 0 calls all_reduce sum of [2] float32 on a device"),
              std::string::npos)
        << e;
  }
}

TEST_F(DeviceBackendTest, WorkThatDoesNotEndBreaksTheGroup) {
  stuck = true;
  const auto errors = Run(
      [](ProcessGroup& g) {
        const Tensor x = OnDevice({1, 2});
        const auto work =
            g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, false);
        if (g.rank() > 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(600));
          return;
        }
        EXPECT_THROW(work->Wait(Limit(10000)), Error);
        // The group says why it ended.
        g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
      },
      Limit(300));
  EXPECT_NE(errors[0].find("all_reduce #1: all ranks entered it, and it did "
                           "not end on the device (limit 0.3 s)"),
            std::string::npos)
      << errors[0];
}

}  // namespace
}  // namespace proa::distributed
