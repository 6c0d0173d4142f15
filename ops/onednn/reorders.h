// How often elements were moved from one memory format to another for the sake
// of oneDNN: what a network in steady state should not do to its images. Counts
// of the process; thread-safe.
#ifndef PROA_OPS_ONEDNN_REORDERS_H_
#define PROA_OPS_ONEDNN_REORDERS_H_

#include <cstdint>

namespace proa::inline v0::onednn {

struct ReorderCounts {
  int64_t data = 0;     // images, and whatever else flows between ops
  int64_t weights = 0;  // weights and their gradients
};

ReorderCounts GetReorderCounts();
void CountReorder(bool of_weights);

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_REORDERS_H_
