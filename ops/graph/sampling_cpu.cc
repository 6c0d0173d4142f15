// Kernels that draw neighbours and give nodes new numbers.
#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/graph/sampling_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace proa::inline v0::ops::cpu {
namespace {

template <typename F>
void VisitIndex(DType dtype, F f) {
  if (dtype == DType::kInt32) {
    f(int32_t{});
  } else {
    f(int64_t{});
  }
}

template <typename T>
Tensor MakeTensor(const std::vector<T>& values, DType dtype, Shape shape) {
  const Tensor out = Tensor::Empty(shape, dtype);
  VisitIndex(dtype, [&]<typename U>(U) {
    std::transform(values.begin(), values.end(), out.data<U>(),
                   [](T v) { return static_cast<U>(v); });
  });
  return out;
}

// The columns of a graph, checked.
template <typename T>
struct Columns {
  Columns(const char* op, const Tensor& row, const Tensor& colptr)
      : starts(colptr.data<T>()),
        nodes(std::max<int64_t>(colptr.numel(), 1) - 1) {
    bool rises = true;
    for (int64_t v = 0; v < colptr.numel(); ++v) {
      rises = rises && starts[v] >= (v == 0 ? 0 : starts[v - 1]) &&
              starts[v] <= row.numel();
    }
    PROA_REQUIRE(rises, op, ": colptr must rise from 0 to ", row.numel(),
                 " at most; row is ", Describe(row), ", colptr is ",
                 Describe(colptr));
  }

  const T* starts;
  int64_t nodes;
};

// Places of drawn neighbours in `row`, rising: `count` of [first, last).
// Floyd's method: each set of so many is as likely (Bentley, "Programming
// pearls: a sample of brilliance", 1987).
void Draw(int64_t first, int64_t last, int64_t count,
          const PhiloxStream& stream, uint64_t word,
          std::vector<int64_t>* places) {
  const int64_t degree = last - first, begin = places->size();
  if (count < 0 || count >= degree) {
    for (int64_t k = first; k < last; ++k) places->push_back(k);
    return;
  }
  std::unordered_set<int64_t> drawn;
  for (int64_t j = degree - count; j < degree; ++j) {
    const auto r = stream.Block(word++);
    const int64_t k = static_cast<int64_t>(UniformInt(r[0], r[1], j + 1));
    const int64_t chosen = drawn.insert(k).second ? k : j;
    drawn.insert(chosen);
    places->push_back(first + chosen);
  }
  std::sort(places->begin() + begin, places->end());
}

PhiloxStream StreamOf(const KernelContext& ctx, int64_t seed, int64_t words) {
  if (seed != 0) return PhiloxStream(static_cast<uint64_t>(seed), 0);
  return DefaultGenerator(ctx.place).Reserve(words);
}

// For each of `nodes` the places of its drawn neighbours. `*block` is where in
// the stream the draws begin; a node takes as many blocks as it draws.
template <typename T, typename Node>
std::vector<std::vector<int64_t>> DrawAll(
    const char* op, const Columns<T>& columns, const std::vector<Node>& nodes,
    int64_t size, const PhiloxStream& stream, uint64_t* block) {
  std::vector<std::vector<int64_t>> places(nodes.size());
  const int64_t count = nodes.size();
  for (int64_t i = 0; i < count; ++i) {
    if (nodes[i] < 0 || nodes[i] >= columns.nodes) {
      ThrowError(absl::StatusCode::kOutOfRange,
                 std::string(op) + ": node " + std::to_string(nodes[i]) +
                     " at [" + std::to_string(i) +
                     "] of input_nodes is out of range for " +
                     std::to_string(columns.nodes) + " nodes");
    }
  }
  const uint64_t each = std::max<int64_t>(size, 0), first = *block;
  parallel_for(0, count, 256, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      Draw(columns.starts[nodes[i]], columns.starts[nodes[i] + 1], size, stream,
           first + i * each, &places[i]);
    }
  });
  *block += count * each;
  return places;
}

// Numbers of nodes in the order in which they are first met.
class Numbering {
 public:
  // The number, and whether the node is new.
  std::pair<int64_t, bool> Number(int64_t node) {
    const auto [it, fresh] =
        numbers_.emplace(node, static_cast<int64_t>(nodes_.size()));
    if (fresh) nodes_.push_back(node);
    return {it->second, fresh};
  }
  const std::vector<int64_t>& nodes() const { return nodes_; }

 private:
  std::unordered_map<int64_t, int64_t> numbers_;
  std::vector<int64_t> nodes_;
};

int64_t Length(const std::vector<int64_t>& v) {
  return static_cast<int64_t>(v.size());
}

}  // namespace

void GraphSampleNeighbors(const KernelContext& ctx, const Tensor& row,
                          const Tensor& colptr, const Tensor& input_nodes,
                          const Tensor& eids, int64_t sample_size,
                          bool return_eids, int64_t seed, Tensor* out_neighbors,
                          Tensor* out_count, Tensor* out_eids) {
  VisitIndex(row.dtype(), [&]<typename T>(T) {
    const Columns<T> columns("graph_sample_neighbors", row, colptr);
    const T* first = input_nodes.data<T>();
    const std::vector<T> nodes(first, first + input_nodes.numel());
    const int64_t words = CheckedMul(
        CheckedMul(
            static_cast<int64_t>(nodes.size()),
            std::min<int64_t>(std::max<int64_t>(sample_size, 0), row.numel())),
        4);
    const int64_t size = std::min(sample_size, row.numel());
    uint64_t block = 0;
    const auto places = DrawAll("graph_sample_neighbors", columns, nodes, size,
                                StreamOf(ctx, seed, words), &block);
    std::vector<int64_t> neighbors, counts, ids;
    for (const auto& of_node : places) {
      counts.push_back(Length(of_node));
      for (const int64_t k : of_node) {
        neighbors.push_back(row.data<T>()[k]);
        if (return_eids) ids.push_back(eids.data<T>()[k]);
      }
    }
    *out_neighbors = MakeTensor(neighbors, row.dtype(), {Length(neighbors)});
    *out_count = MakeTensor(counts, DType::kInt32, {Length(counts)});
    *out_eids = MakeTensor(ids, row.dtype(), {Length(ids)});
  });
}

void GraphReindex(const KernelContext&, const Tensor& x,
                  const Tensor& neighbors, const Tensor& count,
                  Tensor* reindex_src, Tensor* reindex_dst, Tensor* out_nodes) {
  const int64_t n = x.numel(), edges = neighbors.numel(), lists = count.numel();
  PROA_REQUIRE(n == 0 ? lists == 0 : lists % n == 0,
               "graph_reindex: count must have a multiple of ", n,
               " elements by x; x is ", Describe(x), ", count is ",
               Describe(count));
  *reindex_src = Tensor::Empty({edges}, x.dtype(), x.place());
  *reindex_dst = Tensor::Empty({edges}, x.dtype(), x.place());
  Numbering numbering;
  VisitIndex(x.dtype(), [&]<typename T>(T) {
    for (int64_t i = 0; i < n; ++i) {
      PROA_REQUIRE(numbering.Number(x.data<T>()[i]).second,
                   "graph_reindex: node ", x.data<T>()[i], " at [", i,
                   "] of x is there already");
    }
    std::vector<int64_t> owners;
    owners.reserve(edges);
    VisitIndex(count.dtype(), [&]<typename C>(C) {
      int64_t sum = 0;
      for (int64_t i = 0; i < lists; ++i) {
        const int64_t here = count.data<C>()[i];
        PROA_REQUIRE(here >= 0, "graph_reindex: count ", here, " at [", i,
                     "] is negative");
        sum = here > edges - std::min(sum, edges) ? edges + 1 : sum + here;
        if (sum <= edges) owners.insert(owners.end(), here, i % n);
      }
      PROA_REQUIRE(sum == edges, "graph_reindex: the counts sum to ",
                   sum > edges ? "more" : std::to_string(sum), "; there are ",
                   edges, " neighbors; neighbors is ", Describe(neighbors),
                   ", count is ", Describe(count));
    });
    T* src = reindex_src->data<T>();
    for (int64_t e = 0; e < edges; ++e) {
      src[e] = static_cast<T>(numbering.Number(neighbors.data<T>()[e]).first);
    }
    std::transform(owners.begin(), owners.end(), reindex_dst->data<T>(),
                   [](int64_t v) { return static_cast<T>(v); });
  });
  *out_nodes =
      MakeTensor(numbering.nodes(), x.dtype(), {Length(numbering.nodes())});
}

void GraphKhopSampler(const KernelContext& ctx, const Tensor& row,
                      const Tensor& colptr, const Tensor& input_nodes,
                      std::span<const int64_t> sample_sizes, const Tensor& eids,
                      bool return_eids, int64_t seed, Tensor* edge_src,
                      Tensor* edge_dst, Tensor* sample_index,
                      Tensor* reindex_nodes, Tensor* edge_eids) {
  *reindex_nodes = Tensor::Empty({input_nodes.numel()}, row.dtype());
  VisitIndex(row.dtype(), [&]<typename T>(T) {
    const char* const op = "graph_khop_sampler";
    const Columns<T> columns(op, row, colptr);
    Numbering numbering;
    std::vector<int64_t> src, dst, ids, frontier;
    for (int64_t i = 0; i < input_nodes.numel(); ++i) {
      const int64_t node = input_nodes.data<T>()[i];
      const auto [number, fresh] = numbering.Number(node);
      reindex_nodes->data<T>()[i] = static_cast<T>(number);
      if (fresh) frontier.push_back(node);
    }
    // Each node is drawn for once at most.
    int64_t words = 0;
    for (const int64_t size : sample_sizes) {
      words += CheckedMul(
          CheckedMul(columns.nodes, std::clamp<int64_t>(size, 0, row.numel())),
          4);
    }
    const PhiloxStream stream = StreamOf(ctx, seed, words);
    uint64_t block = 0;
    for (const int64_t size : sample_sizes) {
      const auto places = DrawAll(op, columns, frontier,
                                  std::min(size, row.numel()), stream, &block);
      std::vector<int64_t> next;
      for (size_t i = 0; i < frontier.size(); ++i) {
        const int64_t to = numbering.Number(frontier[i]).first;
        for (const int64_t k : places[i]) {
          const int64_t node = row.data<T>()[k];
          const auto [number, fresh] = numbering.Number(node);
          if (fresh) next.push_back(node);
          src.push_back(number);
          dst.push_back(to);
          if (return_eids) ids.push_back(eids.data<T>()[k]);
        }
      }
      frontier = std::move(next);
    }
    *edge_src = MakeTensor(src, row.dtype(), {Length(src), 1});
    *edge_dst = MakeTensor(dst, row.dtype(), {Length(dst), 1});
    *edge_eids = MakeTensor(ids, row.dtype(), {Length(ids), 1});
    *sample_index =
        MakeTensor(numbering.nodes(), row.dtype(), {Length(numbering.nodes())});
  });
}

}  // namespace proa::inline v0::ops::cpu
