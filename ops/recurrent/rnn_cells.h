// What the cells of the op rnn do with a row, forwards and backwards, besides
// products; compiled once per instruction set. H is the size of a gate.
#ifndef PROA_OPS_RECURRENT_RNN_CELLS_H_
#define PROA_OPS_RECURRENT_RNN_CELLS_H_

#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"

namespace proa::inline v0::ops::PROA_ISA::cells {

PROA_HD float Sigmoid(float x) { return vmath::Sigmoid(x); }
PROA_HD double Sigmoid(double x) {
  const double e = vmath::Exp(-std::abs(x));
  return (x >= 0 ? 1.0 : e) / (1.0 + e);
}
PROA_HD float Tanh(float x) { return vmath::Tanh(x); }
PROA_HD double Tanh(double x) { return vmath::Tanh(x); }

template <typename A>
void Sigmoids(A* x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) x[j] = Sigmoid(x[j]);
}
template <typename A>
void Tanhs(A* x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) x[j] = Tanh(x[j]);
}

// gates [i, f, g, o]: sums, which become activations. cell: c, which becomes
// c'.
template <typename A>
void LstmForward(int64_t size, A* gates, A* cell, A* h) {
  Sigmoids(gates, 2 * size);
  Tanhs(gates + 2 * size, size);
  Sigmoids(gates + 3 * size, size);
  const A *i = gates, *f = i + size, *g = f + size, *o = g + size;
  for (int64_t j = 0; j < size; ++j) cell[j] = f[j] * cell[j] + i[j] * g[j];
  for (int64_t j = 0; j < size; ++j) h[j] = o[j] * Tanh(cell[j]);
}

// The h of a step from what is kept of it.
template <typename A>
void LstmHidden(int64_t size, const A* gates, const A* cell_before, A* h) {
  const A *i = gates, *f = i + size, *g = f + size, *o = g + size;
  for (int64_t j = 0; j < size; ++j)
    h[j] = o[j] * Tanh(f[j] * cell_before[j] + i[j] * g[j]);
}

// dh: of h. dc: of c', becomes that of c. to: of the sums of the gates; may lie
// where `gates` do.
template <typename A>
void LstmBackward(int64_t size, const A* gates, const A* cell_before,
                  const A* dh, A* dc, A* to) {
  const A *i = gates, *f = i + size, *g = f + size, *o = g + size;
  A *di = to, *df = di + size, *dg = df + size, *d_o = dg + size;
  for (int64_t j = 0; j < size; ++j) {
    const A in = i[j], forget = f[j], now = g[j], out = o[j];
    const A t = Tanh(forget * cell_before[j] + in * now);
    const A d = dc[j] + dh[j] * out * (A(1) - t * t);
    d_o[j] = dh[j] * t * out * (A(1) - out);
    di[j] = d * now * in * (A(1) - in);
    df[j] = d * cell_before[j] * forget * (A(1) - forget);
    dg[j] = d * in * (A(1) - now * now);
    dc[j] = d * forget;
  }
}

// gates [r, z, n]: sums of the inputs, which become activations. hidden: those
// of the state, with biases; the last is copied to `kept`. h becomes h'.
template <typename A>
void GruForward(int64_t size, A* gates, const A* hidden, A* kept, A* h) {
  for (int64_t j = 0; j < 2 * size; ++j) gates[j] += hidden[j];
  Sigmoids(gates, 2 * size);
  const A *r = gates, *z = r + size;
  A* n = gates + 2 * size;
  for (int64_t j = 0; j < size; ++j) {
    kept[j] = hidden[2 * size + j];
    n[j] += r[j] * kept[j];
  }
  Tanhs(n, size);
  for (int64_t j = 0; j < size; ++j) h[j] = (h[j] - n[j]) * z[j] + n[j];
}

// dh: of h', becomes the part of that of h that goes past the product. to_h: of
// the sums of the state; to_n: of the last one of the inputs, whose others are
// those of the state. They may lie where `gates` and `kept` do.
template <typename A>
void GruBackward(int64_t size, const A* gates, const A* kept, const A* h_before,
                 A* dh, A* to_n, A* to_h) {
  const A *r = gates, *z = r + size, *n = z + size;
  for (int64_t j = 0; j < size; ++j) {
    const A reset = r[j], update = z[j], now = n[j];
    const A dn = dh[j] * (A(1) - update) * (A(1) - now * now);
    const A dr = dn * kept[j] * reset * (A(1) - reset);
    const A dz = dh[j] * (h_before[j] - now) * update * (A(1) - update);
    to_h[j] = dr;
    to_h[size + j] = dz;
    to_n[j] = dn;
    to_h[2 * size + j] = dn * reset;
    dh[j] *= update;
  }
}

template <typename A>
void SimpleForward(int64_t size, bool relu, A* gates, A* h) {
  if (relu) {
    for (int64_t j = 0; j < size; ++j)
      gates[j] = gates[j] < A(0) ? A(0) : gates[j];  // NaN stays
  } else {
    Tanhs(gates, size);
  }
  for (int64_t j = 0; j < size; ++j) h[j] = gates[j];
}

// to: as in LstmBackward.
template <typename A>
void SimpleBackward(int64_t size, bool relu, const A* gates, const A* dh,
                    A* to) {
  for (int64_t j = 0; j < size; ++j) {
    const A slope =
        relu ? (gates[j] > A(0) ? A(1) : A(0)) : A(1) - gates[j] * gates[j];
    to[j] = dh[j] * slope;
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA::cells

#endif  // PROA_OPS_RECURRENT_RNN_CELLS_H_
