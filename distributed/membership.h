// Ranks that make a group agree on who is in it, before they wait for each
// other's connections.
#ifndef PROA_DISTRIBUTED_MEMBERSHIP_H_
#define PROA_DISTRIBUTED_MEMBERSHIP_H_

#include <span>

#include "distributed/fabric.h"

namespace proa::inline v0::distributed {

// Returns when all `members`, of whom this rank is one, have come to make the
// group of this number with the same members. Throws Error: kFailedPrecondition
// where they have others, kDeadlineExceeded where one does not come within the
// limit, kUnavailable where one is gone.
void AgreeOnMembers(Fabric& fabric, int64_t group, std::span<const int> members,
                    Limit limit);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_MEMBERSHIP_H_
