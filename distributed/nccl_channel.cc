#include "distributed/nccl_channel.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tensor/cuda/check.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

constexpr std::chrono::milliseconds kPause(1);

// The communicator's number: the first rank makes it and leaves it in the
// store.
ncclUniqueId Meet(const NcclChannel::Setup& setup, const Watch& watch) {
  ncclUniqueId id;
  const std::string key = "nccl/" + setup.name;
  if (setup.rank == 0) {
    CheckNccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    setup.store.Set(key, std::string(id.internal, sizeof id.internal));
    return id;
  }
  const auto end = Clock::now() + setup.limit;
  while (true) {
    try {
      const std::string text = setup.store.Get(key, Limit(200));
      PROA_REQUIRE(text.size() == sizeof id.internal, "nccl: '", key,
                   "' of the store has ", text.size(), " bytes, not ",
                   sizeof id.internal);
      std::memcpy(id.internal, text.data(), text.size());
      return id;
    } catch (const Error& e) {
      if (e.code() != absl::StatusCode::kDeadlineExceeded ||
          Clock::now() >= end) {
        throw;
      }
    }
    watch();
  }
}

}  // namespace

void CheckNccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const bool others = result == ncclSystemError || result == ncclRemoteError;
  const char* more = ncclGetLastError(nullptr);
  Fail(others ? absl::StatusCode::kUnavailable : absl::StatusCode::kInternal,
       "nccl: ", call, ": ", ncclGetErrorString(result),
       more != nullptr && *more != '\0' ? ": " : "",
       more != nullptr ? more : "");
}

NcclChannel::NcclChannel(const Setup& setup, const Watch& watch)
    : place_(setup.place) {
  const ncclUniqueId id = Meet(setup, watch);
  UseCudaDevice(place_.index);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  CheckNccl(ncclCommInitRankConfig(&comm_, setup.size, id, setup.rank, &config),
            "ncclCommInitRank");
  try {
    Settle("ncclCommInitRank", watch);
    stream_ = RuntimeOf(place_).CreateStream(place_.index);
  } catch (...) {
    Abort();
    throw;
  }
}

NcclChannel::~NcclChannel() {
  // Ending in order waits for ranks that may be gone.
  Abort();
  if (stream_ != nullptr) {
    RuntimeOf(place_).DestroyStream(place_.index, stream_);
  }
}

void NcclChannel::Settle(const char* call, const Watch& watch) {
  ncclResult_t state = ncclInProgress;
  while (true) {
    CheckNccl(ncclCommGetAsyncError(comm_, &state), call);
    if (state != ncclInProgress) break;
    std::this_thread::sleep_for(kPause);
    watch();
  }
  CheckNccl(state, call);
}

void NcclChannel::Run(
    const std::function<void(ncclComm_t, cudaStream_t)>& calls,
    const Watch& watch) {
  std::unique_lock lock(mu_);
  if (aborted_) {
    Fail(absl::StatusCode::kCancelled, "nccl: the communicator was ended");
  }
  UseCudaDevice(place_.index);
  CheckNccl(ncclGroupStart(), "ncclGroupStart");
  try {
    calls(comm_, reinterpret_cast<cudaStream_t>(stream_));
  } catch (...) {
    ncclGroupEnd();
    throw;
  }
  CheckNccl(ncclGroupEnd(), "ncclGroupEnd");
  Settle("ncclGroupEnd", watch);
}

void NcclChannel::Abort() {
  const std::lock_guard lock(mu_);
  if (aborted_ || comm_ == nullptr) return;
  aborted_ = true;
  ncclCommAbort(comm_);
}

}  // namespace proa::inline v0::distributed
