// Job: all ranks that were started together, and the groups of this one.
//
// A process is a rank of one job, or threads of it are ranks of one. The job of
// a thread, else that of the process, is what collectives of this thread mean.
#ifndef PROA_DISTRIBUTED_JOB_H_
#define PROA_DISTRIBUTED_JOB_H_

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "distributed/fabric.h"
#include "distributed/process_group.h"
#include "distributed/work.h"
#include "ops/collective/collective.h"

namespace proa::inline v0::distributed {

class Job {
 public:
  explicit Job(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}
  // In order: the others are told.
  ~Job();

  Fabric& fabric() const { return *fabric_; }
  std::shared_ptr<ProcessGroup> NewGroup(GroupOptions options);
  // Throws Error if there is no such group here.
  std::shared_ptr<ProcessGroup> Group(int64_t id) const;
  void ForgetGroup(int64_t id);

 private:
  const std::shared_ptr<Fabric> fabric_;
  mutable std::mutex mu_;
  std::map<int64_t, std::shared_ptr<ProcessGroup>> groups_;
};

// A work as the ops of collectives know it.
class LateWork final : public LateCollective {
 public:
  explicit LateWork(std::shared_ptr<Work> work) : work_(std::move(work)) {}
  void Wait() override { work_->Wait(); }

 private:
  const std::shared_ptr<Work> work_;
};

// Of this thread, else of the process; null if there is none.
std::shared_ptr<Job> CurrentJob();
// Null takes it away.
void SetJobOfProcess(std::shared_ptr<Job> job);
void SetJobOfThread(std::shared_ptr<Job> job);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_JOB_H_
