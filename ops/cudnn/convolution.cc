#include "ops/cudnn/convolution.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ops/cudnn/descriptor.h"
#include "ops/cudnn/handle.h"
#include "ops/primitives/cuda/precision.h"

namespace proa::inline v0::ops::cudnn {
namespace {

constexpr int64_t kMostWorkspace = int64_t{1} << 30;
constexpr int64_t kX = 1, kWeight = 2, kY = 3;  // ids of tensors

struct Plan {
  Descriptor plan;
  int64_t workspace;
};

cudnnDataType_t TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat32:
      return CUDNN_DATA_FLOAT;
    default:
      return CUDNN_DATA_DOUBLE;
  }
}

// A dense tensor [n, c, sizes...], whose channels may lie last.
bool Describe(const ConvProblem& p, int64_t id, int64_t n, int64_t c,
              const int64_t* sizes, int64_t alignment, Descriptor& to) {
  int64_t dims[5] = {n, c}, strides[5];
  std::copy_n(sizes, p.dims, dims + 2);
  const int rank = p.dims + 2;
  int64_t step = 1;
  if (p.channels_last) {
    strides[1] = 1;
    step = c;
  }
  for (int d = rank - 1; d >= (p.channels_last ? 2 : 1); --d) {
    strides[d] = step;
    step *= dims[d];
  }
  strides[0] = step;
  const auto count = static_cast<size_t>(rank);
  return to.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, TypeOf(p.dtype)) &&
         to.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span(dims, count)) &&
         to.Set(CUDNN_ATTR_TENSOR_STRIDES, std::span(strides, count)) &&
         to.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id) &&
         to.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment) && to.Finalize();
}

bool DescribeWindow(const ConvProblem& p, Descriptor& to) {
  const auto numbers = [&](const int64_t* v) {
    return std::span(v, static_cast<size_t>(p.dims));
  };
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  return to.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, p.dtype == DType::kFloat64
                                                      ? CUDNN_DATA_DOUBLE
                                                      : CUDNN_DATA_FLOAT) &&
         to.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                1, &mode) &&
         to.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{p.dims}) &&
         to.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, numbers(p.dilation)) &&
         to.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, numbers(p.stride)) &&
         to.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, numbers(p.pad_before)) &&
         to.Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, numbers(p.pad_after)) &&
         to.Finalize();
}

// An operation of each kind, and the names of its attributes.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t window, x, weight, y, alpha, beta;
};

Names NamesOf(ConvWanted wanted) {
  switch (wanted) {
    case ConvWanted::kOutput:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvWanted::kInput:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

// Engines that could stand behind the operation, the best first.
std::vector<Descriptor> Candidates(const Descriptor& graph,
                                   cudnnBackendHeurMode_t mode) {
  std::vector<Descriptor> out;
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  if (!(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph) &&
        heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
                       &mode) &&
        heuristics.Finalize())) {
    return out;
  }
  const int64_t count = heuristics.Get(
      CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    out.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(out.back().get());
  }
  const int64_t filled =
      count == 0
          ? 0
          : heuristics.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                           CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
  while (static_cast<int64_t>(out.size()) > filled) out.pop_back();
  return out;
}

// Whether results are the same each time, and of the precision promised.
bool Accepted(const Descriptor& config, bool tensor_cores) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  config.Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
             &raw);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t count =
      engine.Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
  for (int64_t i = 0; i < count; ++i) {
    switch (notes[i]) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return false;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        if (!tensor_cores) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

std::optional<Plan> MakePlan(cudnnHandle_t handle, const ConvProblem& p,
                             bool tf32, int64_t alignment) {
  Descriptor x(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Descriptor weight(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Descriptor y(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Descriptor window(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const Names names = NamesOf(p.wanted);
  Descriptor operation(names.type);
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const bool wide = p.dtype == DType::kFloat64;
  const auto factor = wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  const void* one = wide ? static_cast<const void*>(&one64) : &one32;
  const void* zero = wide ? static_cast<const void*>(&zero64) : &zero32;
  const bool described =
      Describe(p, kX, p.batch, p.in_channels, p.in, alignment, x) &&
      Describe(p, kWeight, p.out_channels, p.in_channels / p.groups, p.kernel,
               alignment, weight) &&
      Describe(p, kY, p.batch, p.out_channels, p.out, alignment, y) &&
      DescribeWindow(p, window) && operation.Set(names.x, x) &&
      operation.Set(names.weight, weight) && operation.Set(names.y, y) &&
      operation.Set(names.window, window) &&
      operation.Set(names.alpha, factor, 1, one) &&
      operation.Set(names.beta, factor, 1, zero) && operation.Finalize() &&
      graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle) &&
      graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation) && graph.Finalize();
  if (!described) return std::nullopt;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const Descriptor& config : Candidates(graph, mode)) {
      if (!Accepted(config, p.dtype != DType::kFloat32 || tf32)) continue;
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      int64_t workspace = 0;
      if (plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle) &&
          plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config) &&
          plan.Finalize() &&
          plan.Get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                   1, &workspace) == 1 &&
          workspace <= kMostWorkspace) {
        return Plan{std::move(plan), workspace};
      }
    }
  }
  return std::nullopt;
}

// 16, or what the addresses are multiples of.
int64_t AlignmentOf(std::initializer_list<const void*> pointers) {
  uintptr_t all = 16;
  for (const void* q : pointers) all |= reinterpret_cast<uintptr_t>(q);
  return static_cast<int64_t>(all & (~all + 1));
}

std::vector<int64_t> KeyOf(const ConvProblem& p, int device, bool tf32,
                           int64_t alignment) {
  std::vector<int64_t> key = {device,
                              tf32 ? 1 : 0,
                              alignment,
                              static_cast<int64_t>(p.wanted),
                              static_cast<int64_t>(p.dtype),
                              p.channels_last ? 1 : 0,
                              p.dims,
                              p.batch,
                              p.in_channels,
                              p.out_channels,
                              p.groups};
  for (const int64_t* v : {p.in, p.out, p.kernel, p.stride, p.dilation,
                           p.pad_before, p.pad_after}) {
    key.insert(key.end(), v, v + p.dims);
  }
  return key;
}

// Plans of this thread, whose handle they were made for. Never destroyed: the
// driver may be gone before thread locals are.
using Plans = std::map<std::vector<int64_t>, std::optional<Plan>>;
Plans& ThreadPlans() {
  static thread_local auto* plans = new Plans;
  return *plans;
}

// Weight gradients of grouped 3-D convolutions in 16 bits came out wrong on an
// H100 with cuDNN 9 (ops/conformance/places.py, conv3d_transpose).
bool IsTrusted(const ConvProblem& p) {
  const bool half = p.dtype == DType::kFloat16 || p.dtype == DType::kBFloat16;
  return !(half && p.dims == 3 && p.groups > 1 &&
           p.wanted == ConvWanted::kWeight);
}

}  // namespace

bool Convolve(const KernelContext& ctx, const ConvProblem& p, void* x,
              void* weight, void* y) {
  constexpr size_t kMostPlans = 4096;
  if (!IsTrusted(p)) return false;
  const cudnnHandle_t handle = CudnnOf(ctx);
  const bool tf32 = p.dtype == DType::kFloat32 && cuda::Tf32Allowed();
  const int64_t alignment = AlignmentOf({x, weight, y});
  Plans& plans = ThreadPlans();
  const std::vector<int64_t> key = KeyOf(p, ctx.place.index, tf32, alignment);
  auto found = plans.find(key);
  if (found == plans.end()) {
    if (plans.size() >= kMostPlans) plans.clear();
    found = plans.emplace(key, MakePlan(handle, p, tf32, alignment)).first;
  }
  if (!found->second.has_value()) return false;
  const Plan& plan = *found->second;
  const Workspace memory(ctx, plan.workspace);
  void* pointers[] = {x, weight, y};
  const int64_t ids[] = {kX, kWeight, kY};
  void* scratch = memory.data();
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  if (!(pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3,
                 pointers) &&
        pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span(ids)) &&
        pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                 &scratch) &&
        pack.Finalize())) {
    return false;
  }
  CheckCudnn(cudnnBackendExecute(handle, plan.plan.get(), pack.get()),
             "convolution");
  chosen_implementation = "cudnn";
  return true;
}

}  // namespace proa::inline v0::ops::cudnn
