// The backend "proa": over the links of the group, in common memory or by
// sockets, with sums in the order of ranks.
#include <algorithm>

#include "distributed/backend.h"
#include "distributed/movement.h"
#include "ops/collective/collective.h"
#include "tensor/dtype.h"

namespace proa::inline v0::distributed {
namespace {

class LinksBackend final : public Backend {
 public:
  explicit LinksBackend(const BackendSetup& setup)
      : links_(setup.links), rank_(setup.rank) {}

  const char* transport() const override { return links_.kind(); }

  void Move(const CollectiveCall& call, const std::vector<int64_t>& to,
            const std::vector<int64_t>& from, const Watch& watch) override {
    if (call.kind == Collective::kAllReduce ||
        call.kind == Collective::kReduce ||
        call.kind == Collective::kReduceScatter) {
      Combine(call, watch);
    } else {
      Exchange(call, to, from, watch);
    }
    Drain(links_, watch);
  }

 private:
  static const char* In(const CollectiveCall& call) {
    return static_cast<const char*>(call.in.defined() ? call.in.raw_data()
                                                      : nullptr);
  }
  static char* Out(const CollectiveCall& call) {
    return static_cast<char*>(call.out.defined() ? call.out.raw_data()
                                                 : nullptr);
  }

  void Combine(const CollectiveCall& call, const Watch& watch) {
    const char* in = In(call);
    char* out = Out(call);
    const int n = links_.size();
    const bool root = call.peer == rank_;
    const size_t item = ItemSize(call.in.dtype());
    const size_t elements = call.in.numel();
    if (elements == 0) return;
    Reduction r{.reduce = call.reduce,
                .dtype = call.in.dtype(),
                .root = static_cast<int>(call.peer)};
    const size_t part = (elements + n - 1) / n;
    for (int i = 0; i < n; ++i) {
      const size_t begin = std::min(elements, i * part);
      r.segments.push_back({begin, std::min(elements - begin, part)});
    }
    const size_t own = r.segments[rank_].begin * item;
    if (call.kind == Collective::kAllReduce) {
      Reduce(links_, r, in, out + own, out, watch);
    } else if (call.kind == Collective::kReduceScatter) {
      r.to = Reduction::To::kOwner;
      Reduce(links_, r, in, out, nullptr, watch);
    } else {
      r.to = Reduction::To::kRoot;
      std::vector<char> scratch(root ? 0 : r.segments[rank_].size * item);
      Reduce(links_, r, in, root ? out + own : scratch.data(), out, watch);
    }
  }

  void Exchange(const CollectiveCall& call, const std::vector<int64_t>& to,
                const std::vector<int64_t>& from, const Watch& watch) {
    const char* in = In(call);
    char* out = Out(call);
    const int n = links_.size();
    std::vector<Bytes> gives(n);
    std::vector<MutableBytes> gets(n);
    const bool same = call.kind == Collective::kBroadcast ||
                      call.kind == Collective::kAllGather ||
                      call.kind == Collective::kGather;
    int64_t give = 0, get = 0;
    for (int i = 0; i < n; ++i) {
      gives[i] = {in + give, static_cast<size_t>(to[i])};
      gets[i] = {out + get, static_cast<size_t>(from[i])};
      if (!same) give += to[i];
      get += from[i];
    }
    ExchangeBytes(links_, gives, gets, watch);
  }

  Links& links_;
  const int rank_;
};

const bool registered = RegisterBackend(
    kDefaultBackend, [](const BackendSetup& setup) -> std::unique_ptr<Backend> {
      return std::make_unique<LinksBackend>(setup);
    });

}  // namespace
}  // namespace proa::inline v0::distributed
