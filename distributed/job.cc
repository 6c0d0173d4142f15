#include "distributed/job.h"

#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

std::mutex process_mu;

std::shared_ptr<Job>& OfProcess() {
  static auto* job = new std::shared_ptr<Job>;
  return *job;
}
thread_local std::shared_ptr<Job> of_thread;

// How kernels of collectives (ops/collective) reach the job.
class Carrier final : public CollectiveCarrier {
 public:
  void Run(const CollectiveCall& call) override {
    const std::shared_ptr<Job> job = CurrentJob();
    if (job == nullptr) {
      RunAlone(call);
    } else {
      job->Group(call.group)->Start(call, /*wait=*/true);
    }
  }
  std::shared_ptr<LateCollective> Begin(const CollectiveCall& call) override {
    const std::shared_ptr<Job> job = CurrentJob();
    if (job == nullptr) {
      RunAlone(call);
      return nullptr;
    }
    return std::make_shared<LateWork>(
        job->Group(call.group)->Start(call, /*wait=*/false));
  }
};

const bool installed = [] {
  InstallCollectiveCarrier(new Carrier);
  return true;
}();

}  // namespace

Job::~Job() {
  // Messages that nobody waited for are for ranks that may still want them.
  const Clock::time_point end = Clock::now() + std::chrono::seconds(2);
  for (auto& [id, group] : groups_) group->Flush(end);
  for (auto& [id, group] : groups_) group->Abort();
  groups_.clear();
  fabric_->SayGoodbye();
}

std::shared_ptr<ProcessGroup> Job::NewGroup(GroupOptions options) {
  const int64_t id = options.id;
  {
    const std::lock_guard lock(mu_);
    PROA_REQUIRE(!groups_.contains(id), "new_group: there is a group ", id,
                 " already");
  }
  auto group = std::make_shared<ProcessGroup>(fabric_, std::move(options));
  const std::lock_guard lock(mu_);
  groups_[id] = group;
  return group;
}

std::shared_ptr<ProcessGroup> Job::Group(int64_t id) const {
  const std::lock_guard lock(mu_);
  const auto at = groups_.find(id);
  PROA_REQUIRE(at != groups_.end(), "collective: rank ", fabric_->rank(),
               " is in no group ", id);
  return at->second;
}

void Job::ForgetGroup(int64_t id) {
  std::shared_ptr<ProcessGroup> group;
  const std::lock_guard lock(mu_);
  const auto at = groups_.find(id);
  if (at == groups_.end()) return;
  group = at->second;
  groups_.erase(at);
  group->Abort();
}

std::shared_ptr<Job> CurrentJob() {
  if (of_thread != nullptr) return of_thread;
  const std::lock_guard lock(process_mu);
  return OfProcess();
}

void SetJobOfProcess(std::shared_ptr<Job> job) {
  const std::lock_guard lock(process_mu);
  OfProcess().swap(job);
}

void SetJobOfThread(std::shared_ptr<Job> job) { of_thread.swap(job); }

}  // namespace proa::inline v0::distributed
