// What a thread's casts of parameters gave, while it is inside of autocast: a
// weight that ops use several times is cast once, until it changes.
//
// Kept are elements, not histories: each use is recorded by itself, so that its
// gradient becomes float32 before it is added to those of other uses, graphs
// share no node, and what was cast with grad off serves where it is on. Kept
// are casts of parameters: leaves that require grad, or did before they were
// frozen; and the last cast of a result that requires grad, which ops that
// follow each other often read (query, key and value). While a program is
// recorded nothing is.
//
//   const bool outermost = BeginCastCache();
//   Tensor low = CastOnce(weight, DType::kBFloat16);
//   if (outermost) EndCastCache();  // gives the memory back
#ifndef PROA_AMP_CAST_CACHE_H_
#define PROA_AMP_CAST_CACHE_H_

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::amp {

// Lets this thread keep casts from now on; false if it does already, in which
// case it is not the caller's to end.
bool BeginCastCache();
void EndCastCache();

// `t` in another floating point type, as by the op cast.
Tensor CastOnce(const Tensor& t, DType dtype);

// What the cache must know of histories; autograd is another room.
// cast_cache_grad.cc installs it: without, nothing is kept.
struct CastHistory {
  // Whether it is a leaf that requires grad, or that did.
  bool (*is_parameter)(const Tensor& t) = nullptr;
  // Whether it requires grad and is no leaf: nobody but ops writes there.
  bool (*is_result)(const Tensor& t) = nullptr;
  // `value`, which are the elements of `t` cast, with the history of a cast.
  Tensor (*record)(const Tensor& t, const Tensor& value) = nullptr;
};
// At start-up. Not synchronized.
void InstallCastHistory(const CastHistory& history);

// How many casts of parameters this thread keeps, for tests.
int64_t NumKeptCasts();

}  // namespace proa::inline v0::amp

#endif  // PROA_AMP_CAST_CACHE_H_
