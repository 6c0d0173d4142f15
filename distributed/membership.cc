#include "distributed/membership.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "distributed/store.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

constexpr char kHint[] =
    "; all ranks of the job call new_group with the same ranks, in the same "
    "order";
// A verdict that is an error begins with this, the others with a list.
constexpr char kWrong = '!';
// How much longer than the first member the others wait, for what it says.
constexpr Limit kGrace(1000);

class Agreement {
 public:
  Agreement(Fabric& fabric, int64_t group, std::span<const int> members,
            Limit limit)
      : fabric_(fabric),
        members_(members),
        name_(absl::StrCat("group ", group)),
        own_(absl::StrCat("[", absl::StrJoin(members, ", "), "]")),
        limit_(limit),
        end_(Clock::now() + limit) {}

  void Reach() {
    fabric_.store().Set(Key(fabric_.rank()), own_);
    if (fabric_.rank() == members_[0]) {
      try {
        for (int rank : members_.subspan(1)) {
          Compare(rank, Await(rank, Key(rank), end_));
        }
      } catch (const Error& e) {
        fabric_.store().Set(Verdict(), absl::StrCat(std::string(1, kWrong),
                                                    std::string(e.what())));
        throw;
      }
      fabric_.store().Set(Verdict(), own_);
      return;
    }
    const std::string verdict = Await(members_[0], Verdict(), end_ + kGrace);
    if (!verdict.empty() && verdict[0] == kWrong) {
      Fail(absl::StatusCode::kFailedPrecondition, verdict.substr(1));
    }
    Compare(members_[0], verdict);
  }

 private:
  std::string Key(int rank) const {
    return absl::StrCat(name_, "/members of ", rank);
  }
  std::string Verdict() const { return absl::StrCat(name_, "/members"); }

  void Compare(int rank, const std::string& theirs) const {
    if (theirs == own_) return;
    Fail(absl::StatusCode::kFailedPrecondition, "new_group: ranks disagree on ",
         name_, ": rank ", fabric_.rank(), " makes it of ", own_, ", rank ",
         rank, " of ", theirs, kHint);
  }

  // What the store holds under the key, which `rank` sets.
  std::string Await(int rank, const std::string& key, Clock::time_point end) {
    while (true) {
      const auto left = std::chrono::duration_cast<Limit>(end - Clock::now());
      // Looked at before the store: who has left may have set it before.
      const bool here = fabric_.presence(rank) == Presence::kHere;
      try {
        return fabric_.store().Get(key, std::clamp(left, Limit(1), Limit(50)));
      } catch (const Error& e) {
        if (e.code() != absl::StatusCode::kDeadlineExceeded) throw;
      }
      LookForInterrupt();
      if (!here) {
        Fail(absl::StatusCode::kUnavailable, "new_group: rank ", rank,
             " is gone, and has not made ", name_, " of ", own_);
      }
      if (left <= Limit(50)) {
        Fail(absl::StatusCode::kDeadlineExceeded, "new_group: rank ", rank,
             " never made ", name_, " of ", own_, " (limit ",
             limit_.count() / 1000.0, " s)", kHint);
      }
    }
  }

  Fabric& fabric_;
  const std::span<const int> members_;
  const std::string name_, own_;
  const Limit limit_;
  const Clock::time_point end_;
};

}  // namespace

void AgreeOnMembers(Fabric& fabric, int64_t group, std::span<const int> members,
                    Limit limit) {
  Agreement(fabric, group, members, limit).Reach();
}

}  // namespace proa::inline v0::distributed
