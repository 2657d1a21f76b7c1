#include "models/torch/autocast.h"

#include <ATen/autocast_mode.h>

namespace parabench::modules {

AutocastGuard::AutocastGuard(bool enabled, torch::DeviceType device) : enabled_(enabled), device_(device) {
  if (!enabled_) return;
  previous_ = at::autocast::is_autocast_enabled(device_);
  previous_type_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!enabled_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, previous_);
  at::autocast::set_autocast_dtype(device_, previous_type_);
}

}  // namespace parabench::modules
