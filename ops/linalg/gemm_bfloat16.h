// Products of bfloat16 on CPUs that multiply it themselves, by AVX-512 or AMX.
#ifndef PROA_OPS_LINALG_GEMM_BFLOAT16_H_
#define PROA_OPS_LINALG_GEMM_BFLOAT16_H_

#include "ops/linalg/gemm.h"

namespace proa::inline v0::ops {

// Whether oneDNN 2.6 and 2.7 load tiles of AMX that they have not configured,
// which is an illegal instruction and ends the process: sums of bfloat16 over
// one element less than a multiple of 32, of some sizes of C. (Seen for [129,
// 63] by [63, 10] and [344, 1215] by [1215, 399], not for each of those near.)
bool LoadsUnknownTiles(const GemmProblem& p);

// Whether bits of oneDNN's product of bfloat16 would depend on the number of
// threads: in AMX, where k is cut into blocks. Of 1400 random products on 1 to
// 8 threads one in seven of those with k from 900 on had other bits, none up to
// kLongestLowSum.
bool LowBitsDependOnThreads(const GemmProblem& p);

// Such a product, without a batch, of operands that can be read in place, in
// pieces by sizes alone. False if oneDNN has no kernel.
bool RunLow(const GemmProblem& p);

// Whether B is a weight that is kept in the order in which AMX multiplies,
// which takes pairs of rows: oneDNN would bring it into that order in each
// call, half of the time of a product with 128 rows.
bool IsKept(const GemmProblem& p);

// Such a product, if A can be read in place; false where it is not computed.
bool RunKept(const GemmProblem& p);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_BFLOAT16_H_
