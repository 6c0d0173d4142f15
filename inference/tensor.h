// An array of elements that goes into a predictor or comes out of it.
//
//   auto image = predictor->GetInputHandle("image");
//   image->Reshape({1, 3, 224, 224});
//   image->CopyFromCpu(pixels);                       // const float*
//
// A handle of a predictor's input or output, or (by its constructor) an array
// of one's own for Predictor::Run(inputs, &outputs). It may outlive its
// predictor. Copies of a Tensor are the same array. Calls of one Tensor may
// come from many threads; pointers into its elements are the caller's care.
#ifndef PROA_INFERENCE_TENSOR_H_
#define PROA_INFERENCE_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "inference/types.h"

namespace proa::inline v0::inference {

class TensorState;

class Tensor {
 public:
  // An array without elements yet; the first CopyFromCpu, mutable_data or
  // ShareExternalData says of which type they are.
  explicit Tensor(const std::string& name = "");
  explicit Tensor(std::shared_ptr<TensorState> state)
      : state_(std::move(state)) {}

  const std::string& name() const;
  DataType type() const;
  PlaceType place() const { return PlaceType::kCPU; }
  // Of an output: after Run. Unknown sizes of an input are -1 before Reshape.
  std::vector<int64_t> shape() const;
  int64_t numel() const;

  // Sets the shape; the next CopyFromCpu reads that many elements. Throws for
  // an output, and for a shape that the model does not take.
  void Reshape(const std::vector<int64_t>& shape);
  void Reshape(const std::vector<int>& shape) {
    Reshape(std::vector<int64_t>(shape.begin(), shape.end()));
  }
  void Reshape(std::initializer_list<int64_t> shape) {
    Reshape(std::vector<int64_t>(shape));
  }

  // T must be the type of the tensor: float, double, bool, [u]int8_t, int16_t,
  // int32_t, int64_t.
  template <typename T>
  void CopyFromCpu(const T* data);
  template <typename T>
  void CopyToCpu(T* data) const;
  // Elements where they lie. Those of an input stay where they are until its
  // shape changes; those of an output until the next Run.
  template <typename T>
  T* mutable_data(PlaceType place = PlaceType::kCPU);
  template <typename T>
  T* data(PlaceType* place, int* size) const;
  // Runs read the caller's memory, which must stay, and keep its elements,
  // while they last; nothing is copied.
  template <typename T>
  void ShareExternalData(const T* data, const std::vector<int64_t>& shape,
                         PlaceType place = PlaceType::kCPU,
                         DataLayout layout = DataLayout::kNCHW);
  template <typename T>
  void ShareExternalData(const T* data, const std::vector<int>& shape,
                         PlaceType place = PlaceType::kCPU,
                         DataLayout layout = DataLayout::kNCHW) {
    ShareExternalData(data, std::vector<int64_t>(shape.begin(), shape.end()),
                      place, layout);
  }
  template <typename T>
  void ShareExternalData(const T* data, std::initializer_list<int64_t> shape,
                         PlaceType place = PlaceType::kCPU,
                         DataLayout layout = DataLayout::kNCHW) {
    ShareExternalData(data, std::vector<int64_t>(shape), place, layout);
  }

  // The same for a type that is not known when the program is compiled; `bytes`
  // is checked against shape and type.
  void CopyFromCpu(const void* data, size_t bytes, DataType type);
  void CopyToCpu(void* data, size_t bytes, DataType type) const;
  void ShareExternalData(const void* data, const std::vector<int64_t>& shape,
                         DataType type);
  void* mutable_data(DataType type);
  const void* data(DataType type) const;

  // Where the sequences in the rows begin and end, for models that look at it:
  // {{0, 2, 5}} are two, of 2 and 3 rows. A run says those of its results.
  void SetLoD(const std::vector<std::vector<size_t>>& lod);
  std::vector<std::vector<size_t>> lod() const;

  TensorState& state() const { return *state_; }

 private:
  std::shared_ptr<TensorState> state_;
};

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_TENSOR_H_
