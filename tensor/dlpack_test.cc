#include "tensor/dlpack.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;

// What another library would hand over: 6 floats as [2, 3].
struct Foreign : ManagedTensorVersioned {
  Foreign() : ManagedTensorVersioned{} {
    version = dlpack::kVersion;
    dl_tensor = {.data = values,
                 .device = {dlpack::kCPU, 0},
                 .ndim = 2,
                 .dtype = {dlpack::kFloat, 32, 1},
                 .shape = shape,
                 .strides = strides,
                 .byte_offset = 0};
    deleter = [](ManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self)->deleted;
    };
  }
  alignas(64) float values[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int deleted = 0;
};

void ExpectRefused(Foreign& f, const std::string& part) {
  try {
    FromDLPack(&f);
    FAIL() << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_EQ(f.deleted, 0);  // still the producer's
}

TEST(DLPack, RoundTripKeepsTheMemory) {
  for (int i = 0; i < kNumDTypes; ++i) {
    Tensor t = Tensor::Empty({4, 6}, static_cast<DType>(i));
    const Tensor v = t.AsStrided({6, 2}, {1, 12}, 6);
    ManagedTensorVersioned* managed = ToDLPack(v);
    EXPECT_EQ(managed->version.major, 1u);
    EXPECT_EQ(managed->flags, 0u);
    const Tensor back = FromDLPack(managed);
    EXPECT_EQ(back.raw_data(), v.raw_data());
    EXPECT_EQ(back.shape(), v.shape());
    EXPECT_EQ(back.strides(), v.strides());
    EXPECT_EQ(back.dtype(), v.dtype());
    EXPECT_EQ(FromDLPack(ToDLPackLegacy(back)).raw_data(), v.raw_data());
  }
}

TEST(DLPack, ExportOutlivesTheTensor) {
  Tensor t = Tensor::Scalar(2.5f);
  const auto storage = t.storage();
  ManagedTensorVersioned* managed = ToDLPack(t, /*copied=*/true);
  EXPECT_EQ(managed->flags, dlpack::kFlagIsCopied);
  t = Tensor();
  EXPECT_EQ(*static_cast<float*>(managed->dl_tensor.data), 2.5f);
  managed->deleter(managed);
  EXPECT_EQ(storage->use_count(), 1);
}

TEST(DLPack, DeleterIsCalledWithTheLastView) {
  Foreign f;
  Tensor t = FromDLPack(&f);
  Tensor view = t.AsStrided({3}, {1}, 3);
  t = Tensor();
  EXPECT_EQ(f.deleted, 0);
  EXPECT_EQ(view.data<float>()[0], 3);
  view = Tensor();
  EXPECT_EQ(f.deleted, 1);
}

TEST(DLPack, ForeignLayouts) {
  Foreign f;
  f.deleter = nullptr;
  f.dl_tensor.strides = nullptr;
  EXPECT_EQ(FromDLPack(&f).strides(), (Strides{3, 1}));
  f.dl_tensor.strides = f.strides;
  f.strides[0] = 1, f.strides[1] = 2;  // column-major
  EXPECT_EQ(FromDLPack(&f).data<float>()[2], 2);
  f.strides[0] = -3, f.strides[1] = -1;  // flipped, from the last element
  f.dl_tensor.byte_offset = 5 * sizeof(float);
  const Tensor flipped = FromDLPack(&f);
  EXPECT_EQ(*flipped.data<float>(), 5);
  EXPECT_EQ(flipped.storage()->data(), f.values);
  EXPECT_EQ(flipped.storage_offset(), 5);
  f.strides[0] = f.strides[1] = 0;  // broadcast
  EXPECT_EQ(FromDLPack(&f).storage()->bytes(), 4);
  f.dl_tensor.ndim = 0;
  f.dl_tensor.shape = f.dl_tensor.strides = nullptr;
  EXPECT_EQ(FromDLPack(&f).item<float>(), 5);
}

TEST(DLPack, EmptyTensors) {
  Foreign f;
  f.shape[1] = 0;
  f.strides[0] = f.strides[1] = std::numeric_limits<int64_t>::max();
  f.dl_tensor.data = nullptr;
  EXPECT_EQ(FromDLPack(&f).numel(), 0);
  EXPECT_EQ(f.deleted, 1);
  EXPECT_EQ(FromDLPack(ToDLPack(Tensor::Empty({0, 2}, DType::kInt8))).numel(),
            0);
}

TEST(DLPack, ReadOnly) {
  Foreign f;
  f.flags = dlpack::kFlagReadOnly;
  const Tensor t = FromDLPack(&f);
  EXPECT_TRUE(t.storage()->read_only());
  ManagedTensorVersioned* again = ToDLPack(t);
  EXPECT_EQ(again->flags, dlpack::kFlagReadOnly);
  again->deleter(again);
  EXPECT_THROW(ToDLPackLegacy(t), Error);
}

TEST(DLPack, Refusals) {
  const int64_t max = std::numeric_limits<int64_t>::max();
  using Change = void (*)(Foreign&);
  const std::pair<const char*, Change> cases[] = {
      {"version 2.0",
       [](Foreign& f) {
         f.version = {2, 0};
       }},
      {"lanes", [](Foreign& f) { f.dl_tensor.dtype.lanes = 4; }},
      {"code 2 and 8 bits", [](Foreign& f) { f.dl_tensor.dtype.bits = 8; }},
      {"code 3", [](Foreign& f) { f.dl_tensor.dtype.code = 3; }},
      {"device type 7", [](Foreign& f) { f.dl_tensor.device.device_type = 7; }},
      {"-1 dims", [](Foreign& f) { f.dl_tensor.ndim = -1; }},
      {"65 dims", [](Foreign& f) { f.dl_tensor.ndim = 65; }},
      {"no shape", [](Foreign& f) { f.dl_tensor.shape = nullptr; }},
      {"negative", [](Foreign& f) { f.shape[0] = -2; }},
      {"no data", [](Foreign& f) { f.dl_tensor.data = nullptr; }},
      {"aligned", [](Foreign& f) { f.dl_tensor.byte_offset = 2; }},
  };
  for (const auto& [text, change] : cases) {
    Foreign f;
    change(f);
    ExpectRefused(f, text);
  }
  for (int64_t size : {max, int64_t{1} << 62}) {
    Foreign f;
    f.shape[0] = f.shape[1] = size;
    ExpectRefused(f, "overflows");
    f.shape[1] = 2;
    f.strides[1] = max;
    ExpectRefused(f, "overflows");
  }
  Foreign f;
  f.strides[0] = -max - 1;
  EXPECT_THROW(FromDLPack(&f), Error);
  EXPECT_THROW(FromDLPack(static_cast<ManagedTensor*>(nullptr)), Error);
  EXPECT_THROW(ToDLPack(Tensor()), Error);
  EXPECT_THROW(ToDLPack(Tensor::Symbolic({2}, DType::kInt8)), Error);
}

TEST(DLPack, Devices) {
  EXPECT_EQ(PlaceOfDLPack({dlpack::kCUDAHost, 0}), Place{});
  EXPECT_EQ(PlaceOfDLPack({dlpack::kCUDA, 1}), (Place{DeviceKind::kGPU, 1}));
  EXPECT_EQ(DLPackDevice(Place{DeviceKind::kGPU, 1}).device_id, 1);
  EXPECT_THROW(PlaceOfDLPack({dlpack::kCUDA, -1}), Error);
  EXPECT_THROW(PlaceOfDLPack({dlpack::kCUDA, 1 << 20}), Error);
}

}  // namespace
}  // namespace proa::inline v0
