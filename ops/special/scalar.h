// Special functions of one real number, in double. Pure and safe to call from
// any thread; NaN gives NaN. The bounds are the largest errors found against
// mpmath (python/tests/special_test.py), in units of the last place.
#ifndef PROA_OPS_SPECIAL_SCALAR_H_
#define PROA_OPS_SPECIAL_SCALAR_H_

#include <cstdint>

namespace proa::inline v0::ops::special {

// log |gamma(x)|; infinite at 0, -1, -2, ... and at both infinities.
double LogGamma(double x);

// The slope of LogGamma. At +0 it is -inf and at -0 inf; NaN at -1, -2, ... and
// at -inf. Near its zeros below 0 the error is relative to 1, not to the
// result.
double Digamma(double x);

// The derivative of order n >= 0 of Digamma, which is order 0. For odd n it is
// inf at 0, -1, -2, ...; for even n, NaN there but at 0, where the sign of the
// zero says from which side. Zeros below 0 as for Digamma.
double Polygamma(int64_t n, double x);

// The y with erf(y) = x: infinite at -1 and 1, NaN beyond.
double InverseErf(double x);

// I_order(x), order >= 0: the modified Bessel function of the first kind.
double BesselI(int64_t order, double x);
// exp(-|x|) times that.
double ScaledBesselI(int64_t order, double x);

}  // namespace proa::inline v0::ops::special

#endif  // PROA_OPS_SPECIAL_SCALAR_H_
