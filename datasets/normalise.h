// From bytes to the numbers a network is trained on.
#pragma once

#include <array>

namespace parabench::datasets {

/// Per channel (R, G, B): value = (byte / 255 - mean) / deviation.
struct Normalisation {
  std::array<float, 3> mean, deviation;
  constexpr float scale(int channel) const { return 1 / (255 * deviation[static_cast<std::size_t>(channel)]); }
  constexpr float offset(int channel) const {
    return -mean[static_cast<std::size_t>(channel)] / deviation[static_cast<std::size_t>(channel)];
  }
};

inline constexpr Normalisation imagenet_normalisation{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
/// Of grey images, the same for each channel.
inline constexpr Normalisation mnist_normalisation{{0.1307F, 0.1307F, 0.1307F}, {0.3081F, 0.3081F, 0.3081F}};
inline constexpr Normalisation cifar10_normalisation{{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}};

}  // namespace parabench::datasets
