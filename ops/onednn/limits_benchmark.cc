// The limit of a model: its convolutions and matrix products alone, in oneDNN
// at the layout that is fastest for each, on memory that is warm. Reads one
// problem a line and writes its least time in seconds, one a line:
//
//   conv float32 forward N C H W O KH KW stride padding groups
//   conv float32 input_grad ...      conv bfloat16 weight_grad ...
//   matmul float32 batch M N K A B   where A, B are n or t, for transposed
//
// benchmarks/limits.py says which problems a network has. Of the CPU's clock
// on one thread, else of the wall's.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Arguments = std::unordered_map<int, memory>;

constexpr double kUnsupported = 1e9;

double Seconds() {
  timespec t;
  clock_gettime(
      GetNumThreads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Bench {
 public:
  Bench() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}
  const dnnl::engine& engine() const { return engine_; }

  // Zeroed memory that lives until the next problem.
  memory Make(const memory::desc& desc) {
    const int64_t bytes =
        std::max<int64_t>(1, static_cast<int64_t>(desc.get_size()));
    const Tensor t = Tensor::Empty({bytes}, DType::kUInt8);
    std::fill_n(t.data<uint8_t>(), bytes, uint8_t{0});
    kept_.push_back(t);
    return memory(desc, engine_, t.raw_data());
  }
  void Forget() { kept_.clear(); }

  // The least of the runs of 150 ms, of two at least after a first one.
  double Least(const dnnl::primitive& primitive, const Arguments& arguments) {
    double least = kUnsupported, total = 0;
    for (int run = 0; run < 3 || (total < 0.15 && run < 200); ++run) {
      const double start = Seconds();
      primitive.execute(stream_, arguments);
      stream_.wait();
      const double took = Seconds() - start;
      total += took;
      if (run > 0) least = std::min(least, took);
    }
    return least;
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Tensor> kept_;
};

struct Conv {
  int64_t n, c, h, w, o, kh, kw, stride, pad, groups;
  int64_t oh() const { return (h + 2 * pad - kh) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - kw) / stride + 1; }
};

// With images in `tag`, weights as oneDNN likes them.
double ConvTime(Bench& bench, const Conv& p, memory::data_type type,
                const std::string& pass, Tag tag) {
  // Only with 3 channels or so there is no blocked form.
  const Tag in = p.c < 4 && tag == Tag::any ? Tag::nchw : tag;
  const memory::desc x({p.n, p.c, p.h, p.w}, type, in);
  const memory::desc y({p.n, p.o, p.oh(), p.ow()}, type, tag);
  const memory::desc w =
      p.groups == 1
          ? memory::desc({p.o, p.c, p.kh, p.kw}, type, Tag::any)
          : memory::desc({p.groups, p.o / p.groups, p.c / p.groups, p.kh, p.kw},
                         type, Tag::any);
  const memory::dims stride{p.stride, p.stride}, pad{p.pad, p.pad};
  const auto direct = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, x, w, y, stride, pad, pad},
      bench.engine());
  if (pass == "forward") {
    return bench.Least(dnnl::convolution_forward(forward),
                       {{DNNL_ARG_SRC, bench.Make(forward.src_desc())},
                        {DNNL_ARG_WEIGHTS, bench.Make(forward.weights_desc())},
                        {DNNL_ARG_DST, bench.Make(forward.dst_desc())}});
  }
  if (pass == "input_grad") {
    const dnnl::convolution_backward_data::primitive_desc d(
        {direct, x, w, y, stride, pad, pad}, bench.engine(), forward);
    return bench.Least(dnnl::convolution_backward_data(d),
                       {{DNNL_ARG_DIFF_SRC, bench.Make(d.diff_src_desc())},
                        {DNNL_ARG_WEIGHTS, bench.Make(d.weights_desc())},
                        {DNNL_ARG_DIFF_DST, bench.Make(d.diff_dst_desc())}});
  }
  const dnnl::convolution_backward_weights::primitive_desc d(
      {direct, x, w, y, stride, pad, pad}, bench.engine(), forward);
  return bench.Least(
      dnnl::convolution_backward_weights(d),
      {{DNNL_ARG_SRC, bench.Make(d.src_desc())},
       {DNNL_ARG_DIFF_WEIGHTS, bench.Make(d.diff_weights_desc())},
       {DNNL_ARG_DIFF_DST, bench.Make(d.diff_dst_desc())}});
}

struct MatMul {
  int64_t batch, m, n, k;
  bool a_transposed, b_transposed;
};

// With A and C dense, and B packed or dense.
double MatMulTime(Bench& bench, const MatMul& p, memory::data_type type,
                  bool packed) {
  const auto dense = [&](int64_t rows, int64_t columns, bool transposed) {
    return memory::desc({p.batch, rows, columns}, type,
                        transposed ? Tag::acb : Tag::abc);
  };
  const memory::desc b = packed
                             ? memory::desc({p.batch, p.k, p.n}, type, Tag::any)
                             : dense(p.k, p.n, p.b_transposed);
  const dnnl::matmul::primitive_desc d(
      {dense(p.m, p.k, p.a_transposed), b, dense(p.m, p.n, false)},
      bench.engine());
  return bench.Least(dnnl::matmul(d),
                     {{DNNL_ARG_SRC, bench.Make(d.src_desc())},
                      {DNNL_ARG_WEIGHTS, bench.Make(d.weights_desc())},
                      {DNNL_ARG_DST, bench.Make(d.dst_desc())}});
}

template <typename F>
double OrUnsupported(F&& f) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    return kUnsupported;
  }
}

double BestConv(Bench& bench, const Conv& p, memory::data_type type,
                const std::string& pass) {
  double best = kUnsupported;
  const auto also = [&](auto&& f) {
    best = std::min(best, OrUnsupported(f));
    bench.Forget();
  };
  for (const Tag tag : {Tag::any, Tag::nhwc})
    also([&] { return ConvTime(bench, p, type, pass, tag); });
  if (pass == "input_grad" && p.stride == 1 && p.kh == p.kw) {
    // The convolution of the gradient with the weight turned round.
    const Conv q{p.n,  p.o,  p.oh(), p.ow(),           p.c,
                 p.kh, p.kw, 1,      p.kh - 1 - p.pad, p.groups};
    for (const Tag tag : {Tag::any, Tag::nhwc})
      also([&] { return ConvTime(bench, q, type, "forward", tag); });
  }
  const bool pointwise = p.kh == 1 && p.kw == 1 && p.stride == 1 && p.pad == 0;
  if (pass == "weight_grad" && pointwise && p.groups == 1) {
    const MatMul q{1, p.o, p.c, p.n * p.h * p.w, true, false};
    also([&] { return MatMulTime(bench, q, type, false); });
  }
  return best;
}

double BestMatMul(Bench& bench, const MatMul& p, memory::data_type type) {
  double best = kUnsupported;
  for (const bool packed : {false, true}) {
    best = std::min(best, OrUnsupported([&] {
                      return MatMulTime(bench, p, type, packed);
                    }));
    bench.Forget();
  }
  return best;
}

double Solve(Bench& bench, const std::string& line) {
  std::istringstream words(line);
  std::string kind, dtype, pass, a, b;
  words >> kind >> dtype;
  const auto type =
      dtype == "bfloat16" ? memory::data_type::bf16 : memory::data_type::f32;
  if (kind == "conv") {
    Conv p;
    words >> pass >> p.n >> p.c >> p.h >> p.w >> p.o >> p.kh >> p.kw >>
        p.stride >> p.pad >> p.groups;
    return BestConv(bench, p, type, pass);
  }
  MatMul p;
  words >> p.batch >> p.m >> p.n >> p.k >> a >> b;
  p.a_transposed = a == "t";
  p.b_transposed = b == "t";
  return BestMatMul(bench, p, type);
}

}  // namespace
}  // namespace proa

int main() {
  proa::GetNumThreads();  // sets OpenMP up
  proa::Bench bench;
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) std::cout << proa::Solve(bench, line) << std::endl;
  return 0;
}
