// JPEG images in memory, and the parts of them that somebody wants.
//
// A decoder reads the header of a file, and then the pixels of a region, once.
// What lies below the region is not decoded, and of what lies above and beside
// it as little as can be; the pixels are those that the whole image would have
// there. They are also those of Pillow, which uses the same library with the
// same settings: exact inverse transform, smooth upsampling.
//
//   absl::StatusOr<JpegDecoder> file = JpegDecoder::Open(bytes);
//   std::vector<uint8_t> pixels(file->height() * file->width() *
//                               file->channels());
//   absl::Status status = file->Read({0, 0, file->height(), file->width()},
//                                    pixels.data());
//
// Files are not trusted: what is wrong with one is a status, never the end of
// the process. The caller compares width() and height() with what a file of its
// size may hold before making room.
#ifndef PROA_OPS_VISION_JPEG_H_
#define PROA_OPS_VISION_JPEG_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace proa::inline v0::ops {

// Of pixels; not empty, and within the image.
struct JpegRegion {
  int64_t top, left, height, width;
};

class JpegDecoder {
 public:
  // `bytes` must outlive the decoder. InvalidArgument for what is no JPEG image
  // of 8 bits a sample with 1, 3 or 4 components.
  static absl::StatusOr<JpegDecoder> Open(std::string_view bytes);

  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;
  ~JpegDecoder();

  int64_t height() const;
  int64_t width() const;
  // 1: gray; 3: red, green, blue; 4: cyan, magenta, yellow, black, with 255 for
  // full ink as in Pillow's images (files have it the other way round).
  int64_t channels() const;

  // Writes [height, width, channels] of a region. InvalidArgument for a damaged
  // file, ResourceExhausted if there is no memory. To be called once.
  absl::Status Read(const JpegRegion& region, uint8_t* pixels);

  // Whether parts of the file are damaged or missing and were made up, as they
  // are by every reader, though not by all in the same way; nor in a region as
  // in the whole.
  bool doubtful() const;

 private:
  struct State;
  explicit JpegDecoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_VISION_JPEG_H_
