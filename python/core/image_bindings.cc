// Images, for Python: `_C.jpeg_size`, `_C.jpeg_pixels`, `_C.pixel_planes`.
#include <Python.h>

#include <cstdint>
#include <string_view>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/vision/jpeg.h"
#include "ops/vision/pixel_planes.h"
#include "python/core/casters.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/module.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using ops::JpegDecoder;

// The memory of an object with a buffer, held while the lock is not.
class Memory {
 public:
  Memory(const py::buffer& of, int flags) {
    CheckStatus(PyObject_GetBuffer(of.ptr(), &buffer_, flags));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    BeforeGivingBack();
    PyBuffer_Release(&buffer_);
  }
  const Py_buffer& operator*() const { return buffer_; }
  std::string_view bytes() const {
    return {static_cast<const char*>(buffer_.buf),
            static_cast<size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_;
};

std::tuple<int64_t, int64_t, int64_t> JpegSize(const py::buffer& content) {
  const Memory file(content, PyBUF_SIMPLE);
  const absl::StatusOr<JpegDecoder> image = JpegDecoder::Open(file.bytes());
  ThrowIfError(image.status());
  return {image->height(), image->width(), image->channels()};
}

// True if the library did not doubt the file.
bool JpegPixels(const py::buffer& content, const py::buffer& pixels,
                int64_t top, int64_t left) {
  const Memory file(content, PyBUF_SIMPLE);
  const Memory to(pixels, PyBUF_WRITABLE | PyBUF_ND | PyBUF_FORMAT);
  PROA_REQUIRE((*to).ndim == 3 && std::string_view((*to).format) == "B",
               "jpeg_pixels: pixels must be uint8 [height, width, channels]");
  const int64_t height = (*to).shape[0], width = (*to).shape[1];
  bool sure = false;
  const absl::Status status =
      WithoutGil(kWorthReleasing, [&]() -> absl::Status {
        absl::StatusOr<JpegDecoder> image = JpegDecoder::Open(file.bytes());
        if (!image.ok()) return image.status();
        if (height < 1 || width < 1 || top < 0 || left < 0 ||
            height > image->height() || top > image->height() - height ||
            width > image->width() || left > image->width() - width ||
            (*to).shape[2] != image->channels())
          return absl::InvalidArgumentError(
              "jpeg_pixels: pixels must be a region of the image, with its "
              "channels");
        const absl::Status read = image->Read({top, left, height, width},
                                              static_cast<uint8_t*>((*to).buf));
        sure = !image->doubtful();
        return read;
      });
  ThrowIfError(status);
  return sure;
}

Tensor PixelPlanes(const py::buffer& pixels, bool mirrored,
                   const Tensor& table) {
  const Memory from(pixels, PyBUF_STRIDES | PyBUF_FORMAT);
  const Py_buffer& view = *from;
  PROA_REQUIRE(view.ndim == 3 && std::string_view(view.format) == "B" &&
                   (view.shape[2] == 0 || view.strides[2] == 1) &&
                   (view.shape[1] < 2 || view.strides[1] == view.shape[2]),
               "pixel_planes: pixels must be uint8 [height, width, channels], "
               "each row without gaps");
  PROA_REQUIRE(table.defined() && table.dtype() == DType::kFloat32 &&
                   table.rank() == 2 && table.size(0) == view.shape[2] &&
                   table.size(1) == 256 && table.is_contiguous() &&
                   table.place().is_cpu(),
               "pixel_planes: table must be float32 [channels, 256]");
  const ops::Pixels image = {static_cast<const uint8_t*>(view.buf),
                             view.shape[0], view.shape[1], view.shape[2],
                             view.strides[0]};
  const Tensor planes = Tensor::Empty(
      {image.channels, image.height, image.width}, DType::kFloat32);
  WithoutGil(planes.numel(), [&] {
    ops::PixelPlanes(image, mirrored, table.data<float>(),
                     planes.data<float>());
  });
  return planes;
}

void BindImages(py::module_& m) {
  m.def("jpeg_size", &JpegSize, py::arg("content"));
  m.def("jpeg_pixels", &JpegPixels, py::arg("content"), py::arg("pixels"),
        py::arg("top") = 0, py::arg("left") = 0);
  m.def("pixel_planes", &PixelPlanes, py::arg("pixels"), py::arg("mirrored"),
        py::arg("table"));
}

const ModulePart part(&BindImages);

}  // namespace
}  // namespace proa::inline v0::python
