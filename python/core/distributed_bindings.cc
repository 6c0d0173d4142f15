// _C.distributed: stores, jobs, groups, and works that are not done yet.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/backend.h"
#include "distributed/etcd_store.h"
#include "distributed/fabric.h"
#include "distributed/flight_recorder.h"
#include "distributed/job.h"
#include "distributed/process_group.h"
#include "distributed/store.h"
#include "distributed/tcp_store.h"
#include "distributed/work.h"
#include "ops/collective/collective.h"
#include "python/core/casters.h"
#include "python/core/gil.h"
#include "python/core/module.h"
#include "python/core/pybind.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using distributed::Fabric;
using distributed::Job;
using distributed::Limit;
using distributed::ProcessGroup;
using distributed::Store;
using distributed::Work;

using NoGil = py::call_guard<GilRelease>;

Limit LimitOf(double seconds) {
  PROA_REQUIRE(seconds >= 0 && seconds < 1e9, "distributed: timeout is ",
               seconds, " s; it must be from 0 to 1e9");
  return Limit(static_cast<int64_t>(seconds * 1000));
}

Collective ParseCollective(const std::string& name) {
  for (int i = 0; i < kNumCollectives; ++i) {
    if (name == Name(Collective{static_cast<uint8_t>(i)})) {
      return Collective{static_cast<uint8_t>(i)};
    }
  }
  FailArgument("distributed: there is no collective '", name, "'");
}

std::shared_ptr<Work> Start(ProcessGroup& group, const std::string& kind,
                            const Tensor& in, const Tensor& out, int64_t peer,
                            const std::string& reduce,
                            std::vector<int64_t> in_splits,
                            std::vector<int64_t> out_splits, bool wait) {
  return group.Start({.kind = ParseCollective(kind),
                      .reduce = ParseReduceOp(kind.c_str(), reduce),
                      .group = group.id(),
                      .peer = peer,
                      .in = in,
                      .out = out,
                      .in_splits = std::move(in_splits),
                      .out_splits = std::move(out_splits)},
                     wait);
}

std::shared_ptr<ProcessGroup> NewGroup(Job& job, int64_t id,
                                       std::vector<int> members, double timeout,
                                       bool shared_memory,
                                       const std::string& backend) {
  return job.NewGroup({.id = id,
                       .members = std::move(members),
                       .limit = LimitOf(timeout),
                       .shared_memory = shared_memory,
                       .backend = backend});
}

py::list Entries(const ProcessGroup& group) {
  constexpr const char* kStates[] = {"runs", "done", "failed"};
  py::list out;
  for (const distributed::FlightEntry& e : group.recorder().Entries()) {
    py::dict d;
    d["sequence"] = e.call.sequence;
    d["op"] = Name(e.call.kind);
    d["call"] = e.call.Text();
    d["state"] = kStates[static_cast<int>(e.state)];
    d["microseconds"] =
        e.ended_ns == 0 ? -1.0
                        : static_cast<double>(e.ended_ns - e.began_ns) / 1e3;
    out.append(d);
  }
  return out;
}

// Kernels of collectives wait for other ranks, which may be threads of this
// process: never with the global lock.
class WithoutLock final : public CollectiveCarrier {
 public:
  void Run(const CollectiveCall& call) override {
    const std::shared_ptr<Job> job = distributed::CurrentJob();
    if (job == nullptr) return RunAlone(call);
    const std::shared_ptr<ProcessGroup> group = job->Group(call.group);
    if (PyGILState_Check() == 0) {
      group->Start(call, true);
      return;
    }
    const GilRelease release;
    group->Start(call, true);
  }
  std::shared_ptr<LateCollective> Begin(const CollectiveCall& call) override {
    const std::shared_ptr<Job> job = distributed::CurrentJob();
    if (job == nullptr) {
      RunAlone(call);
      return nullptr;
    }
    const std::shared_ptr<ProcessGroup> group = job->Group(call.group);
    return std::make_shared<Late>(group->Start(call, false));
  }

 private:
  class Late final : public LateCollective {
   public:
    explicit Late(std::shared_ptr<Work> work) : work_(std::move(work)) {}
    void Wait() override {
      if (PyGILState_Check() == 0) {
        work_.Wait();
        return;
      }
      const GilRelease release;
      work_.Wait();
    }

   private:
    distributed::LateWork work_;
  };
};

// What is dropped by Python may wait for a thread that wants the lock.
template <typename T>
std::shared_ptr<T> EndsWithoutLock(T* object) {
  return std::shared_ptr<T>(object, [](T* o) {
    if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) {
      const GilRelease release;
      delete o;
    } else {
      delete o;
    }
  });
}

void BindStores(py::module_& m) {
  py::class_<Store, std::shared_ptr<Store>>(m, "Store")
      .def(
          "set",
          [](Store& s, const std::string& key, const py::bytes& value) {
            const std::string text = value;
            const GilRelease release;
            s.Set(key, text);
          },
          py::arg("key"), py::arg("value"))
      .def(
          "get",
          [](Store& s, const std::string& key, double timeout) {
            std::string value;
            {
              const GilRelease release;
              value = s.Get(key, LimitOf(timeout));
            }
            return py::bytes(value);
          },
          py::arg("key"), py::arg("timeout") = 300.0)
      .def("add", &Store::Add, py::arg("key"), py::arg("amount"), NoGil())
      .def("delete", &Store::Delete, py::arg("key"), NoGil());
  py::class_<distributed::HashStore, Store,
             std::shared_ptr<distributed::HashStore>>(m, "HashStore")
      .def(py::init<>());
  py::class_<distributed::FileStore, Store,
             std::shared_ptr<distributed::FileStore>>(m, "FileStore")
      .def(py::init<std::string>(), py::arg("directory"));
  py::class_<distributed::TcpStore, Store,
             std::shared_ptr<distributed::TcpStore>>(m, "TcpStore")
      .def(py::init(
               [](const std::string& host, int port, double timeout, int rank) {
                 const GilRelease release;
                 return EndsWithoutLock(new distributed::TcpStore(
                     host, port, LimitOf(timeout), rank));
               }),
           py::arg("host"), py::arg("port"), py::arg("timeout") = 300.0,
           py::arg("rank") = -1);
  using distributed::EtcdStore;
  py::class_<EtcdStore, Store, std::shared_ptr<EtcdStore>>(m, "EtcdStore")
      .def(py::init([](const std::string& host, int port,
                       const std::string& prefix, double timeout) {
             const GilRelease release;
             return std::make_shared<EtcdStore>(host, port, prefix,
                                                LimitOf(timeout));
           }),
           py::arg("host"), py::arg("port"), py::arg("prefix") = "",
           py::arg("timeout") = 300.0)
      .def("claim", &EtcdStore::Claim, py::arg("key"), py::arg("value"),
           py::arg("lease") = 0, NoGil())
      .def("new_lease", &EtcdStore::NewLease, py::arg("seconds"), NoGil())
      .def("keep_lease", &EtcdStore::KeepLease, py::arg("lease"), NoGil())
      .def("end_lease", &EtcdStore::EndLease, py::arg("lease"), NoGil())
      .def("clear", &EtcdStore::Clear, NoGil());
  py::class_<distributed::TcpStoreServer,
             std::shared_ptr<distributed::TcpStoreServer>>(m, "TcpStoreServer")
      .def(py::init([](int port) {
             return EndsWithoutLock(new distributed::TcpStoreServer(port));
           }),
           py::arg("port") = 0)
      .def_property_readonly("port", &distributed::TcpStoreServer::port);
}

void BindGroups(py::module_& m) {
  py::class_<Work, std::shared_ptr<Work>>(m, "Work")
      .def(
          "wait",
          [](Work& w, std::optional<double> timeout) {
            std::optional<Limit> limit;
            if (timeout) limit = LimitOf(*timeout);
            const GilRelease release;
            return w.Wait(limit);
          },
          py::arg("timeout") = py::none())
      .def("is_completed", &Work::IsDone);
  py::class_<ProcessGroup, std::shared_ptr<ProcessGroup>>(m, "ProcessGroup")
      .def_property_readonly("id", &ProcessGroup::id)
      .def_property_readonly("rank", &ProcessGroup::rank)
      .def_property_readonly("size", &ProcessGroup::size)
      .def_property_readonly("members", &ProcessGroup::members)
      .def_property_readonly("backend", &ProcessGroup::backend)
      .def_property_readonly("transport", &ProcessGroup::transport)
      .def("abort", &ProcessGroup::Abort)
      .def("entries", &Entries)
      .def("start", &Start, py::arg("kind"), py::arg("input") = Tensor(),
           py::arg("output") = Tensor(), py::arg("peer") = 0,
           py::arg("reduce") = "sum",
           py::arg("in_splits") = std::vector<int64_t>(),
           py::arg("out_splits") = std::vector<int64_t>(),
           py::arg("wait") = true, NoGil());
  py::class_<Job, std::shared_ptr<Job>>(m, "Job")
      .def_property_readonly("rank",
                             [](const Job& j) { return j.fabric().rank(); })
      .def_property_readonly("size",
                             [](const Job& j) { return j.fabric().size(); })
      .def("new_group", &NewGroup, py::arg("id"), py::arg("members"),
           py::arg("timeout") = 1800.0, py::arg("shared_memory") = true,
           py::arg("backend") = distributed::kDefaultBackend, NoGil())
      .def("forget_group", &Job::ForgetGroup, py::arg("id"), NoGil());
  m.def(
      "processes",
      [](std::shared_ptr<Store> store, int rank, int size, double timeout) {
        const GilRelease release;
        return EndsWithoutLock(new Job(distributed::NewProcessFabric(
            std::move(store), rank, size, LimitOf(timeout))));
      },
      py::arg("store"), py::arg("rank"), py::arg("size"),
      py::arg("timeout") = 300.0, "The job whose ranks meet in a store.");
  m.def(
      "threads",
      [](const std::string& name, int rank, int size) {
        return EndsWithoutLock(
            new Job(distributed::NewThreadFabric(name, rank, size)));
      },
      py::arg("name"), py::arg("rank"), py::arg("size"),
      "The job whose ranks are threads of this process.");
  m.def("set_job_of_process", &distributed::SetJobOfProcess, py::arg("job"),
        NoGil());
  m.def("set_job_of_thread", &distributed::SetJobOfThread, py::arg("job"),
        NoGil());
  m.def("backends", &distributed::BackendNames,
        "Names of what can carry the collectives of a group.");
  m.def("why_absent", &distributed::WhyAbsent, py::arg("name"),
        "Why this build has no backend of that name; '' if nobody knows.");
  m.def(
      "turn", [] { return CollectiveTurn(); },
      "What every collective op on the host changes.");
}

void Bind(py::module_& parent) {
  InstallCollectiveCarrier(new WithoutLock);
  py::module_ m =
      parent.def_submodule("distributed", "Ranks that compute together.");
  BindStores(m);
  BindGroups(m);
}

const ModulePart part(&Bind);

}  // namespace
}  // namespace proa::inline v0::python
