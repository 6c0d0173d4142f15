// Ops whose cost is memory, beside memcpy: GB/s of all bytes that an op must
// read and write, and per cent of what memcpy reaches on as many threads. Each
// run of an op follows one of memcpy, so that what else the machine does
// strikes both.
//
//   bazel run //ops:bandwidth_benchmark --
//       [--filter=sum] [--mib=64] [--threads=2] [--repetitions=15] [--cpu]
//
// --cpu counts CPU time instead of wall time: on one thread it is the better
// clock of a machine that is busy with other things.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/strided_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/dropout_ops.h"
#include "ops/nn/max_pool_ops.h"
#include "ops/nn/softmax_ops.h"
#include "ops/optimizer/adam_ops.h"
#include "ops/optimizer/gradient_descent_ops.h"
#include "ops/reduction/arg_ops.h"
#include "ops/reduction/extremum_ops.h"
#include "ops/reduction/moments_ops.h"
#include "ops/reduction/scan_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

struct Options {
  std::string filter;
  int64_t mib = 64;
  int threads = 0;  // as many as there are
  int repetitions = 15;
  bool cpu = false;
};

Tensor Filled(const Shape& shape, DType dtype = DType::kFloat32) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data<float>()[i] = static_cast<float>(i % 8191) * 1e-3f - 4;
  }
  return dtype == DType::kFloat32 ? t : ops::cast(t, dtype);
}

double Now(bool cpu) {
  timespec t;
  clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double Time(const std::function<void()>& call, bool cpu) {
  const double start = Now(cpu);
  call();
  return Now(cpu) - start;
}

struct Seconds {
  double least;
  double median;
};

Seconds Summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

// Runs the cases, each between runs of memcpy, and prints a line for each.
class Bandwidth {
 public:
  explicit Bandwidth(const Options& options)
      : options_(options),
        n_(options.mib << 18),
        from_(Filled({n_})),
        to_(Filled({n_})) {}

  void RunAll() {
    std::printf("%-34s %9s %9s %14s %14s\n", "", "GB/s", "copy", "% (medians)",
                "% (least)");
    Elementwise();
    Strided();
    Reductions();
    Rows();
    Steps();
    Arithmetic();
  }

 private:
  void Copy() {
    parallel_for(0, n_, 65536, [&](int64_t b, int64_t e) {
      std::memcpy(to_.data<float>() + b, from_.data<float>() + b, 4 * (e - b));
    });
  }

  // `bytes_each`: bytes that a call must read and write for each of n_
  // elements. What it returns is kept until the next call, as a program would:
  // two blocks of memory take turns.
  void Add(const std::string& name, double bytes_each,
           const std::function<Tensor()>& call) {
    if (name.find(options_.filter) == std::string::npos) return;
    Tensor kept;
    std::vector<double> ours, theirs;
    for (int i = -2; i < options_.repetitions; ++i) {
      const double t = Time([&] { Copy(); }, options_.cpu);
      const double u = Time([&] { kept = call(); }, options_.cpu);
      if (i < 0) continue;  // memory is taken
      theirs.push_back(t);
      ours.push_back(u);
    }
    const Seconds s = Summary(ours), m = Summary(theirs);
    const double bytes = bytes_each * 1e-9 * static_cast<double>(n_);
    const double copied = 8e-9 * static_cast<double>(n_);
    std::printf("%-34s %9.1f %9.1f %14.0f %14.0f\n", name.c_str(),
                bytes / s.median, copied / m.median,
                100 * (bytes / s.median) / (copied / m.median),
                100 * (bytes / s.least) / (copied / m.least));
    std::fflush(stdout);
  }

  void Elementwise() {
    const Tensor x = Filled({n_}), y = Filled({n_});
    const Tensor one = Filled(Shape{}), mask = ops::less_than(x, Filled({1}));
    const Tensor half = ops::cast(x, DType::kBFloat16),
                 half16 = ops::cast(x, DType::kFloat16);
    Add("add", 12, [=] { return ops::add(x, y); });
    Add("add_ (in place)", 12, [=] { return ops::add_(x, y); });
    Add("multiply", 12, [=] { return ops::multiply(x, y); });
    Add("multiply by a scalar", 8, [=] { return ops::multiply(x, one); });
    Add("relu", 8, [=] { return ops::relu(x); });
    Add("exp", 8, [=] { return ops::exp(x); });
    Add("tanh", 8, [=] { return ops::tanh(x); });
    Add("cast float32 to float64", 12,
        [=] { return ops::cast(x, DType::kFloat64); });
    Add("cast float32 to bfloat16", 6,
        [=] { return ops::cast(x, DType::kBFloat16); });
    Add("cast bfloat16 to float32", 6,
        [=] { return ops::cast(half, DType::kFloat32); });
    Add("cast float32 to int64", 12,
        [=] { return ops::cast(x, DType::kInt64); });
    Add("add bfloat16", 6, [=] { return ops::add(half, half); });
    Add("add float16", 6, [=] { return ops::add(half16, half16); });
    Add("less_than", 9, [=] { return ops::less_than(x, y); });
    Add("where", 13, [=] { return ops::where(mask, x, y); });
    Add("assign", 8, [=] { return ops::assign(x); });
  }

  void Strided() {
    const int64_t side = 4096, rows = n_ / side;
    const Tensor x = Filled({rows, side}), y = Filled({rows, side});
    const Tensor turned =
        Filled({side, rows}).AsStrided({rows, side}, {1, rows}, 0);
    const Tensor row = Filled({side}), column = Filled({rows, 1});
    const Tensor image = Filled({n_ / (64 * 56 * 56), 64, 56, 56});
    const int64_t nhwc[] = {0, 2, 3, 1};
    const Tensor last = ops::transpose(image, nhwc);
    const double part =
        static_cast<double>(image.numel()) / static_cast<double>(n_);
    const Tensor flat = Filled({n_});
    const Tensor every_other = Filled({2 * n_}).AsStrided({n_}, {2}, 0);
    const Tensor columns =
        Filled({n_ / 8, 16}).AsStrided({n_ / 8, 8}, {16, 1}, 0);
    const Tensor three = Filled({n_ / 3, 3}), of_three = Filled({3});
    Add("assign transposed", 8, [=] { return ops::assign(turned); });
    Add("assign NCHW as NHWC", 8 * part, [=] { return ops::assign(last); });
    Add("assign every other", 12, [=] { return ops::assign(every_other); });
    Add("assign left half of 16 columns", 12,
        [=] { return ops::assign(columns); });
    Add("add transposed", 12, [=] { return ops::add(turned, y); });
    Add("add both transposed", 12, [=] { return ops::add(turned, turned); });
    Add("exp transposed", 8, [=] { return ops::exp(turned); });
    Add("add a row", 8, [=] { return ops::add(x, row); });
    Add("add a column", 8, [=] { return ops::add(x, column); });
    Add("add a row of 3", 8, [=] { return ops::add(three, of_three); });
    Add("add every other", 16, [=] { return ops::add(every_other, flat); });
  }

  void Reductions() {
    const Tensor x = Filled({n_}), a = Filled({n_ / 4096, 4096});
    const Tensor b = Filled({64, n_ / 64 / 1024, 1024}),
                 c = Filled({n_ / 3, 3});
    const Tensor image = Filled({n_ / (64 * 3136), 64, 3136});
    const Tensor half = ops::cast(x, DType::kBFloat16);
    const Tensor pixels = Filled({n_ / (64 * 3136), 56, 56, 64});
    const Tensor quarter = Filled({n_ / (64 * 3136), 28, 28, 64});
    const Tensor planes = Filled({n_ / (64 * 3136), 64, 56, 56});
    const Tensor quarter_planes = Filled({n_ / (64 * 3136), 64, 28, 28});
    const double part =
        static_cast<double>(image.numel()) / static_cast<double>(n_);
    static constexpr int64_t kFirst[] = {0}, kMiddle[] = {1}, kLast[] = {-1},
                             kOuter[] = {0, 2};
    Add("sum", 4, [=] { return ops::sum(x); });
    Add("sum over first axis", 4, [=] { return ops::sum(a, kFirst); });
    Add("sum over middle axis", 4, [=] { return ops::sum(b, kMiddle); });
    Add("sum over last axis", 4, [=] { return ops::sum(a, kLast); });
    Add("sum over all but channels", 4 * part,
        [=] { return ops::sum(image, kOuter); });
    Add("sum of [N, 3] over last axis", 4 + 4. / 3,
        [=] { return ops::sum(c, kLast); });
    Add("sum of [N, 3] over first axis", 4,
        [=] { return ops::sum(c, kFirst); });
    for (const int64_t kernel : {2, 3}) {
      Add("max_pool_grad of " + std::to_string(kernel) + " by stride 2",
          9 * part, [=] {
            const int64_t sizes[] = {kernel, kernel}, stride[] = {2, 2};
            const int64_t padding[] = {kernel - 2, kernel - 2};
            return ops::max_pool_grad(quarter, pixels, sizes, stride, padding,
                                      false, "NHWC");
          });
      Add("max_pool_grad of " + std::to_string(kernel) + " by 2, NCHW",
          9 * part, [=] {
            const int64_t sizes[] = {kernel, kernel}, stride[] = {2, 2};
            const int64_t padding[] = {kernel - 2, kernel - 2};
            return ops::max_pool_grad(quarter_planes, planes, sizes, stride,
                                      padding, false, "NCHW");
          });
    }
    Add("sum of bfloat16", 2, [=] { return ops::sum(half); });
    Add("mean", 4, [=] { return ops::mean(x); });
    Add("mean over last axis", 4, [=] { return ops::mean(a, kLast); });
    Add("max", 4, [=] { return ops::max(x); });
    Add("max over first axis", 4, [=] { return ops::max(a, kFirst); });
    Add("max over last axis", 4, [=] { return ops::max(a, kLast); });
    Add("argmax", 4, [=] { return ops::argmax(x); });
    Add("argmax over first axis", 4, [=] { return ops::argmax(a, 0); });
    Add("argmax over last axis", 4, [=] { return ops::argmax(a, -1); });
    Add("argmax of [N, 3] over last axis", 4 + 8. / 3,
        [=] { return ops::argmax(c, -1); });
    Add("var", 4, [=] { return ops::var(x); });
    Add("var over first axis", 4, [=] { return ops::var(a, kFirst); });
    Add("var over last axis", 4, [=] { return ops::var(a, kLast); });
    Add("logsumexp", 4, [=] { return ops::logsumexp(x); });
    Add("logsumexp over last axis", 4,
        [=] { return ops::logsumexp(a, kLast); });
    Add("logsumexp over first axis", 4,
        [=] { return ops::logsumexp(a, kFirst); });
  }

  void Rows() {
    const Tensor x = Filled({n_}), a = Filled({n_ / 4096, 4096});
    Add("softmax over last axis", 8, [=] { return ops::softmax(a); });
    Add("softmax over first axis", 12, [=] { return ops::softmax(a, 0); });
    Add("dropout", 9, [=] { return std::get<0>(ops::dropout(x)); });
    Add("cumsum", 8, [=] { return ops::cumsum(x); });
    Add("cumsum over first axis", 8, [=] { return ops::cumsum(a, 0); });
    Add("cumsum over last axis", 8, [=] { return ops::cumsum(a, 1); });
  }

  // What ops of long formulas cost where memory costs nothing: one thread, from
  // the L1 cache. Above they can be no faster, whatever memory gives.
  void Arithmetic() {
    const Tensor x = Filled({4096});
    const auto add = [&](const char* op, const std::function<Tensor()>& call) {
      const std::string name = std::string(op) + " from the L1 cache";
      if (name.find(options_.filter) == std::string::npos) return;
      constexpr int kCalls = 1000;
      std::vector<double> times;
      for (int i = 0; i < options_.repetitions; ++i) {
        times.push_back(Time(
            [&] {
              for (int k = 0; k < kCalls; ++k) call();
            },
            options_.cpu));
      }
      std::printf("%-34s %9.3f ns an element\n", name.c_str(),
                  1e9 * Summary(times).least / kCalls / 4096);
    };
    add("exp", [=] { return ops::exp(x); });
    add("tanh", [=] { return ops::tanh(x); });
    add("logsumexp", [=] { return ops::logsumexp(x); });
    add("softmax", [=] { return ops::softmax(x); });
  }

  // Steps of optimizers over the parameters of BERT-base, 438 MB.
  void Steps() {
    if (std::string_view("momentum_ adamw_ of BERT-base")
            .find(options_.filter) == std::string_view::npos) {
      return;
    }
    std::vector<Shape> shapes = {{30522, 768}, {512, 768}, {2, 768}, {768},
                                 {768},        {768, 768}, {768}};
    for (int layer = 0; layer < 12; ++layer) {
      for (int i = 0; i < 4; ++i) shapes.push_back({768, 768});
      for (int i = 0; i < 9; ++i) shapes.push_back({768});
      shapes.insert(shapes.end(), {{768, 3072}, {3072}, {3072, 768}});
    }
    std::vector<Tensor> lists[4], powers[2];  // parameters, gradients, moments
    int64_t count = 0;
    for (const Shape& shape : shapes) {
      for (auto& list : lists) {
        const Tensor x = Filled(shape);
        list.push_back(ops::multiply(x, x));  // second moments are squares
      }
      for (auto& power : powers) power.push_back(ops::exp(Filled({1})));
      count += shape.numel();
    }
    const Tensor lr = ops::cast(Filled(Shape{}), DType::kFloat64);
    const double part = static_cast<double>(count) / static_cast<double>(n_);
    Add("momentum_ of BERT-base", 20 * part, [&] {
      ops::momentum_(lists[0], lists[1], lists[2], lr, 0.9);
      return lr;
    });
    Add("adamw_ of BERT-base", 28 * part, [&] {
      ops::adamw_(lists[0], lists[1], lists[2], lists[3], powers[0], powers[1],
                  lr, 0.9, 0.999, 1e-8, 0.01);
      return lr;
    });
  }

  const Options& options_;
  const int64_t n_;
  const Tensor from_, to_;
};

void PrintLoad() {
  double load[1] = {};
  if (getloadavg(load, 1) == 1) std::printf("load average %.2f\n", load[0]);
}

// The value of --name=value in `argument`, or null.
const char* Value(const char* argument, std::string_view name) {
  const std::string_view a = argument;
  if (!a.starts_with("--") || a.substr(2, name.size()) != name) return nullptr;
  const char* rest = argument + 2 + name.size();
  return *rest == '=' ? rest + 1 : *rest == '\0' ? rest : nullptr;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (const char* v = Value(argv[i], "filter")) {
      options.filter = v;
    } else if (const char* v = Value(argv[i], "mib")) {
      options.mib = std::max(1, std::atoi(v));
    } else if (const char* v = Value(argv[i], "threads")) {
      options.threads = std::atoi(v);
    } else if (const char* v = Value(argv[i], "repetitions")) {
      options.repetitions = std::max(1, std::atoi(v));
    } else if (Value(argv[i], "cpu") != nullptr) {
      options.cpu = true;
    } else {
      std::fprintf(stderr, "bandwidth_benchmark: unknown argument %s\n",
                   argv[i]);
      return 2;
    }
  }
  if (options.threads > 0) SetNumThreads(options.threads);
  std::printf("%d threads, %s time, %d MiB\n", GetNumThreads(),
              options.cpu ? "CPU" : "wall", static_cast<int>(options.mib));
  PrintLoad();
  Bandwidth(options).RunAll();
  PrintLoad();
  return 0;
}

}  // namespace
}  // namespace proa::inline v0

int main(int argc, char** argv) { return proa::Main(argc, argv); }
