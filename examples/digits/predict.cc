// Runs the model that train.py saved on images of digits, without Python.
//
//   predict <folder>/digits <folder>/samples.bin
//
// samples.bin holds float32 images of 8 x 8 pixels in [0, 1], one after the
// other. Prints them in characters, each with what the model says it is and how
// sure it is; the last line is all predictions, as train.py writes them to
// samples.txt.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "inference/predictor.h"

namespace {

constexpr int kSide = 8;
constexpr int kPixels = kSide * kSide;
constexpr int kClasses = 10;

std::vector<float> ReadImages(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.empty() || bytes.size() % (kPixels * sizeof(float)) != 0) {
    throw std::runtime_error(
        path + ": " + std::to_string(bytes.size()) +
        " bytes are no whole number of 8 x 8 float32 images");
  }
  std::vector<float> images(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(images.data()));
  return images;
}

// Scores [n, kClasses] of images [n, 1, kSide, kSide].
std::vector<float> Run(const std::string& model,
                       const std::vector<float>& images) {
  const std::shared_ptr<proa::inference::Predictor> predictor =
      proa::inference::CreatePredictor(proa::inference::Config(model));
  auto input = predictor->GetInputHandle(predictor->GetInputNames().at(0));
  const int64_t count = static_cast<int64_t>(images.size()) / kPixels;
  input->Reshape({count, 1, kSide, kSide});
  input->CopyFromCpu(images.data());
  predictor->Run();
  auto output = predictor->GetOutputHandle(predictor->GetOutputNames().at(0));
  std::vector<float> scores(output->numel());
  if (static_cast<int64_t>(scores.size()) != count * kClasses) {
    throw std::runtime_error(model + ": the model does not give " +
                             std::to_string(kClasses) + " scores an image");
  }
  output->CopyToCpu(scores.data());
  return scores;
}

// Part that the highest score has in softmax(scores).
float Confidence(const float* scores, int best) {
  float sum = 0;
  for (int c = 0; c < kClasses; ++c) sum += std::exp(scores[c] - scores[best]);
  return 1 / sum;
}

void Print(const float* image, int digit, float confidence) {
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int level =
          static_cast<int>(std::clamp(image[y * kSide + x], 0.f, 1.f) * 4);
      const char c = " .+*#"[level];
      std::printf("%c%c", c, c);
    }
    if (y == kSide / 2) std::printf("   %d (%.1f %%)", digit, 100 * confidence);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: predict MODEL IMAGES\n");
    return 2;
  }
  try {
    const std::vector<float> images = ReadImages(argv[2]);
    const std::vector<float> scores = Run(argv[1], images);
    std::string line;
    for (size_t i = 0; i < scores.size() / kClasses; ++i) {
      const float* row = &scores[i * kClasses];
      const int digit =
          static_cast<int>(std::max_element(row, row + kClasses) - row);
      if (i < 4) Print(&images[i * kPixels], digit, Confidence(row, digit));
      line += (i == 0 ? "" : " ") + std::to_string(digit);
    }
    std::printf("%s\n", line.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "predict: %s\n", e.what());
    return 1;
  }
  return 0;
}
