// The backend "nccl": tensors of NVIDIA GPUs over NCCL, on streams of their
// own.
//
// Tensors on the CPU, and sums of numbers that NCCL does not know, go by the
// default backend. The order of sums is NCCL's: equal on all ranks, but another
// than one process has. Its connections know no secret: only for networks that
// are trusted.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "distributed/backend.h"
#include "distributed/nccl_channel.h"
#include "distributed/nccl_types.h"
#include "tensor/cuda/check.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

void RequireDevice() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  cudaGetLastError();  // it is said here
  Fail(absl::StatusCode::kFailedPrecondition,
       "new_group: the backend 'nccl' needs an NVIDIA GPU with a driver, and "
       "this process sees none",
       status == cudaSuccess
           ? std::string()
           : absl::StrCat(" (cudaGetDeviceCount: ", cudaGetErrorString(status),
                          ")"),
       "; backend=None takes the best that there is");
}

std::string Version() {
  int v = 0;
  CheckNccl(ncclGetVersion(&v), "ncclGetVersion");
  return absl::StrCat("NCCL ", v / 10000, ".", v / 100 % 100, ".", v % 100);
}

class NcclBackend final : public DeviceBackend {
 public:
  explicit NcclBackend(const BackendSetup& setup)
      : store_(setup.fabric.store()),
        group_(setup.group),
        rank_(setup.rank),
        size_(static_cast<int>(setup.members.size())),
        limit_(setup.limit) {
    RequireDevice();
    version_ = Version();
  }

  const char* transport() const override { return version_.c_str(); }
  bool Carries(const Place& place) const override {
    return place.kind == DeviceKind::kGPU;
  }
  bool Combines(ReduceOp reduce, DType dtype) const override {
    return NcclReductionOf(reduce, dtype).has_value();
  }

  void MoveOnDevice(const CollectiveCall& call, const std::vector<int64_t>& to,
                    const std::vector<int64_t>& from, DeviceTurn* turn,
                    const Watch& watch) override {
    NcclChannel& channel = ChannelOf(call, turn->place(), watch);
    turn->Enqueue(channel.stream(), [&](StreamHandle stream) {
      for (const Tensor* t : {&call.in, &call.out}) {
        if (t->defined() && t->storage()) t->storage()->UseOn(stream);
      }
      channel.Run([&](ncclComm_t comm,
                      cudaStream_t s) { Call(call, to, from, comm, s); },
                  watch);
    });
  }

  void Abort() override {
    const std::lock_guard lock(mu_);
    aborted_ = true;
    for (auto& [name, channel] : channels_) channel->Abort();
  }

 private:
  // One for collectives, and one for each direction between two ranks: sends
  // and receives have no order among them.
  NcclChannel& ChannelOf(const CollectiveCall& call, Place place,
                         const Watch& watch) {
    NcclChannel::Setup setup{.store = store_,
                             .name = absl::StrCat(group_, "/all"),
                             .place = place,
                             .rank = rank_,
                             .size = size_,
                             .limit = limit_};
    if (call.kind == Collective::kSend || call.kind == Collective::kReceive) {
      const bool sends = call.kind == Collective::kSend;
      const int64_t peer = call.peer;
      setup.name = sends ? absl::StrCat(group_, "/", rank_, ">", peer)
                         : absl::StrCat(group_, "/", peer, ">", rank_);
      setup.rank = sends ? 0 : 1;
      setup.size = 2;
    }
    {
      const std::lock_guard lock(mu_);
      const auto at = channels_.find(setup.name);
      if (at != channels_.end()) {
        if (at->second->place() != place) {
          FailArgument("nccl: this rank of the group has used ",
                       ToString(at->second->place()), "; a tensor is on ",
                       ToString(place));
        }
        return *at->second;
      }
    }
    // Without the lock: the others may take their time. Calls of one channel
    // come one after the other, so nobody else makes it.
    auto made = std::make_unique<NcclChannel>(setup, watch);
    const std::lock_guard lock(mu_);
    if (aborted_) made->Abort();
    return *(channels_[setup.name] = std::move(made));
  }

  static void* PointerTo(const Tensor& t) {
    return t.defined() ? const_cast<void*>(t.raw_data()) : nullptr;
  }

  static void Call(const CollectiveCall& call, const std::vector<int64_t>& to,
                   const std::vector<int64_t>& from, ncclComm_t comm,
                   cudaStream_t stream) {
    auto* const in = static_cast<char*>(PointerTo(call.in));
    auto* const out = static_cast<char*>(PointerTo(call.out));
    const int peer = static_cast<int>(call.peer);
    switch (call.kind) {
      case Collective::kAllReduce:
      case Collective::kReduce:
      case Collective::kReduceScatter:
        return Combine(call, in, out, comm, stream);
      case Collective::kBroadcast:
        return CheckNccl(
            ncclBroadcast(in, out, from[peer], ncclUint8, peer, comm, stream),
            "ncclBroadcast");
      case Collective::kSend:
        return CheckNccl(
            ncclSend(in, call.in.bytes(), ncclUint8, 1, comm, stream),
            "ncclSend");
      case Collective::kReceive:
        return CheckNccl(
            ncclRecv(out, call.out.bytes(), ncclUint8, 0, comm, stream),
            "ncclRecv");
      case Collective::kAllGather:
        if (std::all_of(from.begin(), from.end(),
                        [&](int64_t n) { return n == from[0]; })) {
          return CheckNccl(
              ncclAllGather(in, out, from[0], ncclUint8, comm, stream),
              "ncclAllGather");
        }
        return Exchange(call.kind, in, to, out, from, comm, stream);
      case Collective::kGather:
      case Collective::kScatter:
      case Collective::kAllToAll:
        return Exchange(call.kind, in, to, out, from, comm, stream);
      default:
        Fail(absl::StatusCode::kInternal, "nccl: ", Name(call.kind),
             " moves nothing");
    }
  }

  static void Combine(const CollectiveCall& call, void* in, void* out,
                      ncclComm_t comm, cudaStream_t stream) {
    const auto r = *NcclReductionOf(call.reduce, call.in.dtype());
    const size_t n = call.in.numel() * r.parts;
    if (n == 0) return;
    if (call.kind == Collective::kAllReduce) {
      CheckNccl(ncclAllReduce(in, out, n, r.type, r.op, comm, stream),
                "ncclAllReduce");
    } else if (call.kind == Collective::kReduce) {
      CheckNccl(ncclReduce(in, out, n, r.type, r.op,
                           static_cast<int>(call.peer), comm, stream),
                "ncclReduce");
    } else {
      const size_t part = call.out.numel() * r.parts;
      CheckNccl(ncclReduceScatter(in, out, part, r.type, r.op, comm, stream),
                "ncclReduceScatter");
    }
  }

  // Parts to each rank and from each; a part that goes to all begins at the
  // same place.
  static void Exchange(Collective kind, const char* in,
                       const std::vector<int64_t>& to, char* out,
                       const std::vector<int64_t>& from, ncclComm_t comm,
                       cudaStream_t stream) {
    const bool same = kind == Collective::kAllGather;
    int64_t give = 0, get = 0;
    for (int i = 0; i < static_cast<int>(to.size()); ++i) {
      if (to[i] > 0) {
        CheckNccl(ncclSend(in + give, to[i], ncclUint8, i, comm, stream),
                  "ncclSend");
      }
      if (from[i] > 0) {
        CheckNccl(ncclRecv(out + get, from[i], ncclUint8, i, comm, stream),
                  "ncclRecv");
      }
      if (!same) give += to[i];
      get += from[i];
    }
  }

  Store& store_;
  const int64_t group_;
  const int rank_;
  const int size_;
  const Limit limit_;
  std::string version_;
  std::mutex mu_;
  bool aborted_ = false;
  std::map<std::string, std::unique_ptr<NcclChannel>> channels_;  // by mu_
};

[[maybe_unused]] const bool registered = RegisterBackend(
    "nccl", [](const BackendSetup& setup) -> std::unique_ptr<Backend> {
      return std::make_unique<NcclBackend>(setup);
    });

}  // namespace
}  // namespace proa::inline v0::distributed
