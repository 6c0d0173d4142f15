// The backend "gloo": Gloo's algorithms over its own TCP connections.
//
// Gloo's calls block and cannot be interrupted, so they run on a thread beside,
// and who waits for them looks at the other ranks. It has no 16-bit or boolean
// dtypes of its own: elements are blobs of their size, combined by Fold, so all
// dtypes go. Its order of sums depends on size and ranks, but not on timing;
// 16-bit sums are rounded after each operand.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "distributed/backend.h"
#include "distributed/fold.h"
#include "distributed/movement.h"
#include "distributed/store.h"
#include "gloo/allgatherv.h"
#include "gloo/allreduce.h"
#include "gloo/alltoallv.h"
#include "gloo/broadcast.h"
#include "gloo/gather.h"
#include "gloo/reduce.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/store.h"
#include "gloo/scatter.h"
#include "gloo/transport/tcp/attr.h"
#include "gloo/transport/tcp/device.h"
#include "ops/collective/collective.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

// Where the ranks of the group leave their addresses.
class Meeting final : public gloo::rendezvous::Store {
 public:
  Meeting(distributed::Store& store, std::string prefix, Limit limit)
      : store_(store), prefix_(std::move(prefix)), limit_(limit) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    store_.Set(prefix_ + key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_.Get(prefix_ + key, limit_);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) store_.Get(prefix_ + key, limit_);
  }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& limit) override {
    for (const std::string& key : keys) {
      store_.Get(prefix_ + key, std::min(limit, limit_));
    }
  }

 private:
  distributed::Store& store_;
  const std::string prefix_;
  const Limit limit_;
};

// One for each group, with a thread of its own: several threads that close
// their connections of one device at the same time can wait for ever.
std::shared_ptr<gloo::transport::Device> DeviceAt(const std::string& host) {
  gloo::transport::tcp::attr attr;
  attr.hostname = host;
  return gloo::transport::tcp::CreateDevice(attr);
}

// Runs one task at a time on a thread beside.
class Aside {
 public:
  Aside() : state_(std::make_shared<State>()) {
    thread_ = std::thread([state = state_] { Loop(*state); });
  }
  ~Aside() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(state_->mu);
      state_->stop = true;
    }
    state_->changed.notify_all();
    thread_.join();
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // Throws what the task throws, and what `watch` throws: then the task is left
  // alone with what it owns, and Run must not be called again.
  void Run(std::function<void()> task, const Watch& watch) {
    std::unique_lock lock(state_->mu);
    state_->task = std::move(task);
    state_->error = nullptr;
    state_->changed.notify_all();
    constexpr std::chrono::milliseconds kTurn(20);
    while (
        !state_->changed.wait_for(lock, kTurn, [&] { return !state_->task; })) {
      lock.unlock();
      try {
        watch();
      } catch (...) {
        thread_.detach();
        throw;
      }
      lock.lock();
    }
    if (state_->error) std::rethrow_exception(state_->error);
  }

 private:
  struct State {
    std::mutex mu;
    std::condition_variable changed;
    std::function<void()> task;  // empty when it is done
    std::exception_ptr error;
    bool stop = false;
  };

  static void Loop(State& state) {
    NeverLookForInterrupt();
    std::unique_lock lock(state.mu);
    while (true) {
      state.changed.wait(lock, [&] { return state.stop || state.task; });
      if (state.stop) return;
      lock.unlock();
      std::exception_ptr error;
      try {
        state.task();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      state.error = error;
      state.task = nullptr;
      state.changed.notify_all();
    }
  }

  std::shared_ptr<State> state_;
  std::thread thread_;
};

// An element, of which Gloo needs to know the size alone.
template <size_t N>
struct Element {
  char bytes[N];
};

// `f(T*)` with an element type of this size.
template <typename F>
void WithElement(size_t size, const F& f) {
  switch (size) {
    case 1:
      return f(static_cast<Element<1>*>(nullptr));
    case 2:
      return f(static_cast<Element<2>*>(nullptr));
    case 4:
      return f(static_cast<Element<4>*>(nullptr));
    case 8:
      return f(static_cast<Element<8>*>(nullptr));
    case 16:
      return f(static_cast<Element<16>*>(nullptr));
    default:
      Fail(absl::StatusCode::kInternal, "gloo: no element has ", size,
           " bytes");
  }
}

constexpr size_t kChunk = 16384;  // elements that Fold works on at once

class GlooBackend final : public Backend {
 public:
  explicit GlooBackend(const BackendSetup& setup)
      : links_(setup.links), limit_(std::max(setup.limit, Limit(1))) {
    const char* own = std::getenv("PROA_HOST_IP");
    std::string host =
        own != nullptr ? own : setup.fabric.store().LocalAddress();
    if (host.empty()) host = "127.0.0.1";
    Meeting meeting(setup.fabric.store(),
                    absl::StrCat("gloo/", setup.group, "/"), limit_);
    try {
      std::shared_ptr<gloo::transport::Device> device = DeviceAt(host);
      auto context = std::make_shared<gloo::rendezvous::Context>(
          setup.rank, static_cast<int>(setup.members.size()));
      context->setTimeout(limit_);
      context->connectFullMesh(meeting, device);
      context_ = std::move(context);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      Fail(absl::StatusCode::kUnavailable, "new_group: Gloo at ", host, ": ",
           e.what());
    }
  }

  // Gloo can wait for ever while it closes connections, so they stay until the
  // process ends; who leaves is known to the others by the job.
  ~GlooBackend() override { new Context(std::move(context_)); }

  const char* transport() const override { return "gloo over TCP"; }

  void Move(const CollectiveCall& call, const std::vector<int64_t>& to,
            const std::vector<int64_t>& from, const Watch& watch) override {
    try {
      // A task that is left alone keeps its tensors and connections.
      aside_.Run([call, to, from, context = context_,
                  limit = limit_] { Call(call, to, from, context, limit); },
                 watch);
    } catch (const Error&) {
      context_->closeConnections();
      throw;
    } catch (const std::exception& e) {
      // A connection ends a moment before the rank is known to be gone.
      const std::string what = e.what();
      for (int turn = 0; turn < 100; ++turn) {
        watch();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      Fail(absl::StatusCode::kUnavailable, Name(call.kind), ": Gloo: ", what);
    } catch (...) {
      context_->closeConnections();
      throw;
    }
    // Gloo closes connections with what is under way in them, so nobody leaves
    // before all have what is theirs.
    const char done = 1;
    std::vector<char> theirs(links_.size());
    std::vector<MutableBytes> gets;
    for (char& c : theirs) gets.push_back({&c, 1});
    ExchangeBytes(links_, std::vector<Bytes>(links_.size(), Bytes{&done, 1}),
                  gets, watch);
    Drain(links_, watch);
  }

 private:
  using Context = std::shared_ptr<gloo::Context>;

  // Gloo refuses null, also where nothing is to be moved.
  static void* PointerTo(const Tensor& t) {
    static char none[16];
    void* p = t.defined() ? const_cast<void*>(t.raw_data()) : nullptr;
    return p == nullptr ? none : p;
  }

  static void Call(const CollectiveCall& call, const std::vector<int64_t>& to,
                   const std::vector<int64_t>& from, const Context& context,
                   Limit limit) {
    void* const in = PointerTo(call.in);
    void* const out = PointerTo(call.out);
    const int root = static_cast<int>(call.peer);
    const bool here = context->rank == root;
    auto* const bytes_in = static_cast<uint8_t*>(in);
    auto* const bytes_out = static_cast<uint8_t*>(out);
    switch (call.kind) {
      case Collective::kAllReduce:
      case Collective::kReduce:
        return Combine(call, in, out, context, limit);
      case Collective::kReduceScatter:
        return ReduceParts(call, bytes_in, bytes_out, context, limit);
      case Collective::kBroadcast: {
        if (from[root] == 0) return;
        gloo::BroadcastOptions o(context);
        o.setTimeout(limit);
        o.setRoot(root);
        if (here && in != out) o.setInput(bytes_in, from[root]);
        o.setOutput(bytes_out, from[root]);
        return gloo::broadcast(o);
      }
      case Collective::kAllGather: {
        const std::vector<size_t> sizes(from.begin(), from.end());
        gloo::AllgathervOptions o(context);
        o.setTimeout(limit);
        o.setInput(bytes_in, sizes[context->rank]);
        o.setOutput(bytes_out, sizes);
        return gloo::allgatherv(o);
      }
      case Collective::kGather: {
        if (to[root] == 0) return;
        gloo::GatherOptions o(context);
        o.setTimeout(limit);
        o.setRoot(root);
        o.setInput(bytes_in, to[root]);
        if (here) o.setOutput(bytes_out, to[root] * context->size);
        return gloo::gather(o);
      }
      case Collective::kScatter: {
        if (from[root] == 0) return;
        gloo::ScatterOptions o(context);
        o.setTimeout(limit);
        o.setRoot(root);
        std::vector<uint8_t*> parts;
        for (int i = 0; here && i < context->size; ++i) {
          parts.push_back(bytes_in + i * from[root]);
        }
        if (here) o.setInputs(parts, from[root]);
        o.setOutput(bytes_out, from[root]);
        return gloo::scatter(o);
      }
      case Collective::kAllToAll:
        return Exchange(bytes_in, to, bytes_out, from, context, limit);
      default:
        Fail(absl::StatusCode::kInternal, "gloo: ", Name(call.kind),
             " moves nothing");
    }
  }

  static void Exchange(uint8_t* in, const std::vector<int64_t>& to,
                       uint8_t* out, const std::vector<int64_t>& from,
                       const Context& context, Limit limit) {
    gloo::AlltoallvOptions o(context);
    o.setTimeout(limit);
    o.setInput(in, to);
    o.setOutput(out, from);
    gloo::alltoallv(o);
  }

  static void Combine(const CollectiveCall& call, void* in, void* out,
                      const Context& context, Limit limit) {
    const auto n = static_cast<size_t>(call.in.numel());
    if (n == 0) return;
    const DType dtype = call.in.dtype();
    const bool mean = call.reduce == ReduceOp::kAvg;
    const ReduceOp reduce = mean ? ReduceOp::kSum : call.reduce;
    const auto combine = [=](void* c, const void* a, const void* b,
                             size_t count) {
      Fold(reduce, dtype, 2, 0).Start(c, a, b, 0, count);
    };
    const bool all = call.kind == Collective::kAllReduce;
    const bool gets = all || context->rank == call.peer;
    WithElement(ItemSize(dtype), [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      std::vector<T> scratch(gets ? 0 : n);
      T* const to = gets ? static_cast<T*>(out) : scratch.data();
      const auto run = [&](auto& o) {
        o.setTimeout(limit);
        o.setReduceFunction(combine);
        if (in != to) o.setInput(static_cast<T*>(in), n);
        o.setOutput(to, n);
      };
      if (all) {
        gloo::AllreduceOptions o(context);
        run(o);
        gloo::allreduce(o);
      } else {
        gloo::ReduceOptions o(context);
        run(o);
        o.setRoot(static_cast<int>(call.peer));
        gloo::reduce(o);
      }
    });
    if (mean && gets) Divide(out, n, dtype, context->size);
  }

  // The mean is the sum and nothing, divided.
  static void Divide(void* out, size_t n, DType dtype, int ranks) {
    const size_t item = ItemSize(dtype);
    const std::vector<char> nothing(std::min(n, kChunk) * item);
    Fold fold(ReduceOp::kAvg, dtype, ranks, kChunk);
    for (size_t at = 0; at < n; at += kChunk) {
      char* part = static_cast<char*>(out) + at * item;
      const size_t count = std::min(kChunk, n - at);
      fold.Start(part, part, nothing.data(), 0, count);
      fold.Finish(part, count);
    }
  }

  // Gloo has no reduction of uneven parts: they are exchanged, and added up in
  // the order of ranks.
  static void ReduceParts(const CollectiveCall& call, uint8_t* in, uint8_t* out,
                          const Context& context, Limit limit) {
    const auto n = static_cast<size_t>(call.out.numel());
    const int ranks = context->size;
    if (n == 0) return;
    const size_t item = ItemSize(call.in.dtype());
    std::vector<uint8_t> parts(n * item * ranks);
    const std::vector<int64_t> sizes(ranks, static_cast<int64_t>(n * item));
    Exchange(in, sizes, parts.data(), sizes, context, limit);
    Fold fold(call.reduce, call.in.dtype(), ranks, kChunk);
    for (size_t at = 0; at < n; at += kChunk) {
      const size_t count = std::min(kChunk, n - at);
      const auto of = [&](int i) { return parts.data() + (i * n + at) * item; };
      uint8_t* to = out + at * item;
      fold.Start(to, of(0), of(1), 0, count);
      for (int i = 2; i < ranks; ++i) fold.Add(to, of(i), 0, count);
      fold.Finish(to, count);
    }
  }

  Links& links_;
  const Limit limit_;
  Context context_;
  Aside aside_;
};

const bool registered = RegisterBackend(
    "gloo", [](const BackendSetup& setup) -> std::unique_ptr<Backend> {
      return std::make_unique<GlooBackend>(setup);
    });

}  // namespace
}  // namespace proa::inline v0::distributed
