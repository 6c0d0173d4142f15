#include "ops/signal/signal_infer.h"

#include "ops/infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

void RequireHop(const char* op, int64_t hop_length, int64_t axis) {
  PROA_REQUIRE(hop_length > 0, op, ": hop_length is ", hop_length,
               "; it must be positive");
  PROA_REQUIRE(axis == 0 || axis == -1, op, ": axis is ", axis,
               "; it must be 0 or -1");
}

// Where the dims stand: of the signal that of samples, of the frames that of
// places in a frame and that of frames.
int SamplesAt(const Shape& signal, int64_t axis) {
  return axis == 0 ? 0 : signal.rank() - 1;
}
int PlacesAt(const Shape& frames, int64_t axis) {
  return axis == 0 ? 1 : frames.rank() - 2;
}
int FramesAt(const Shape& frames, int64_t axis) {
  return axis == 0 ? 0 : frames.rank() - 1;
}

bool Differ(int64_t a, int64_t b) {
  return !IsUnknown(a) && !IsUnknown(b) && a != b;
}

// Samples that the frames cover, unknown if their number or length is.
int64_t Covered(const char* op, const Shape& frames, int64_t hop_length,
                int64_t axis) {
  const int64_t length = frames[PlacesAt(frames, axis)];
  const int64_t count = frames[FramesAt(frames, axis)];
  if (IsUnknown(length) || IsUnknown(count)) return kUnknownDim;
  const int64_t before = CheckedMul(count - 1, hop_length);
  PROA_REQUIRE(before <= INT64_MAX - length, op, ": ", count, " frames every ",
               hop_length, " samples are too many");
  return before + length;
}

// `frames` are the frames of `signal`, which may be longer than they.
void RequireFrames(const char* op, const Tensor& x, const Shape& frames,
                   const Shape& signal, int64_t hop_length, int64_t axis) {
  bool fits = frames.rank() == signal.rank() + 1 && signal.rank() > 0;
  for (int i = 0; fits && i + 1 < signal.rank(); ++i) {
    fits = axis == 0 ? !Differ(frames[i + 2], signal[i + 1])
                     : !Differ(frames[i], signal[i]);
  }
  PROA_REQUIRE(fits, op, ": x has no frames of a signal ", ToString(signal),
               "; x is ", Describe(x));
  const int64_t samples = signal[SamplesAt(signal, axis)];
  const int64_t covered = Covered(op, frames, hop_length, axis);
  PROA_REQUIRE(IsUnknown(samples) || IsUnknown(covered) || covered <= samples,
               op, ": ", frames[FramesAt(frames, axis)], " frames of ",
               frames[PlacesAt(frames, axis)], " are longer than a signal of ",
               samples, "; x is ", Describe(x));
}

}  // namespace

Shape frame(const char* op, const Tensor& x, int64_t frame_length,
            int64_t hop_length, int64_t axis) {
  RequireHop(op, hop_length, axis);
  PROA_REQUIRE(frame_length > 0, op, ": frame_length is ", frame_length,
               "; it must be positive");
  PROA_REQUIRE(x.rank() > 0, op, ": x needs 1 dim or more; x is ", Describe(x));
  const int at = SamplesAt(x.shape(), axis);
  const int64_t samples = x.size(at);
  int64_t count = kUnknownDim;
  if (!IsUnknown(samples)) {
    PROA_REQUIRE(frame_length <= samples, op, ": frame_length ", frame_length,
                 " is longer than the signal; x is ", Describe(x));
    count = 1 + (samples - frame_length) / hop_length;
  }
  Shape out;
  if (axis == 0) {
    out = {count, frame_length};
    for (int i = 1; i < x.rank(); ++i) out.push_back(x.size(i));
  } else {
    for (int i = 0; i + 1 < x.rank(); ++i) out.push_back(x.size(i));
    out.push_back(frame_length);
    out.push_back(count);
  }
  out.numel();  // refuses what no number counts
  return out;
}

Shape overlap_add(const char* op, const Tensor& x, int64_t hop_length,
                  int64_t axis) {
  RequireHop(op, hop_length, axis);
  PROA_REQUIRE(x.rank() >= 2, op, ": x needs 2 dims or more; x is ",
               Describe(x));
  PROA_REQUIRE(x.size(FramesAt(x.shape(), axis)) != 0, op,
               ": there are no frames; x is ", Describe(x));
  Shape out;
  const int64_t samples = Covered(op, x.shape(), hop_length, axis);
  if (axis == 0) out.push_back(samples);
  for (int i = axis == 0 ? 2 : 0; i < (axis == 0 ? x.rank() : x.rank() - 2);
       ++i) {
    out.push_back(x.size(i));
  }
  if (axis != 0) out.push_back(samples);
  out.numel();  // refuses what no number counts
  return out;
}

Shape overlap_into(const char* op, const Tensor& x, const IntArray& shape,
                   int64_t hop_length, int64_t axis) {
  RequireHop(op, hop_length, axis);
  const Shape out = sizes(op, shape);
  PROA_REQUIRE(x.rank() >= 2, op, ": x needs 2 dims or more; x is ",
               Describe(x));
  RequireFrames(op, x, x.shape(), out, hop_length, axis);
  return out;
}

Shape frames_of(const char* op, const Tensor& x, const IntArray& shape,
                int64_t hop_length, int64_t axis) {
  RequireHop(op, hop_length, axis);
  const Shape out = sizes(op, shape);
  PROA_REQUIRE(out.rank() >= 2, op, ": shape needs 2 sizes or more; it is ",
               ToString(out));
  RequireFrames(op, x, out, x.shape(), hop_length, axis);
  return out;
}

}  // namespace proa::inline v0::ops::infer
