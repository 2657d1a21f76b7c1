// Mixed precision for a scope.
#pragma once

#include <torch/types.h>

namespace parabench::modules {

/// While it lives, matrix products and convolutions of this thread on `device` run in bfloat16 (torch's
/// autocast) if `enabled`; else nothing changes. Put it around forward and loss, not around backward. The end
/// of the outermost guard drops the cached casts, so weights may change afterwards.
class AutocastGuard {
 public:
  AutocastGuard(bool enabled, torch::DeviceType device);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  bool enabled_;
  torch::DeviceType device_;
  bool previous_ = false;
  torch::ScalarType previous_type_ = torch::kFloat32;
};

}  // namespace parabench::modules
