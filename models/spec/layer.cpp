#include "models/spec/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace parabench {
namespace {

std::string text(Shape s) { return fmt::format("{}x{}x{}", s.channels, s.height, s.width); }

void require_channels(const std::string& name, Shape in, int channels) {
  if (in.channels != channels) throw usage_error(name, text(in), fmt::format("an input of {} channels", channels));
}

/// Length of a map's side after a window slid over it.
int windows(const std::string& name, Shape in, int side, int kernel, int stride, int padding) {
  if (side < 1 || side + 2 * padding < kernel)
    throw usage_error(name, text(in), fmt::format("a map of at least {0}x{0}", std::max(1, kernel - 2 * padding)),
                      "take more pixels");
  return (side + 2 * padding - kernel) / stride + 1;
}

Shape slide(const std::string& name, Shape in, int channels, int kernel, int stride, int padding) {
  return {channels, windows(name, in, in.height, kernel, stride, padding),
          windows(name, in, in.width, kernel, stride, padding)};
}

Shape after(const std::string& name, const Conv2d& op, Shape in) {
  require_channels(name, in, op.in);
  return slide(name, in, op.out, op.kernel, op.stride, op.padding);
}
Shape after(const std::string& name, const BatchNorm& op, Shape in) {
  require_channels(name, in, op.channels);
  return in;
}
Shape after(const std::string& name, const LayerNorm& op, Shape in) {
  if (in != Shape{op.features, 1, 1})
    throw usage_error(name, text(in), fmt::format("an input of {} features, {}x1x1", op.features, op.features));
  return in;
}
Shape after(const std::string&, const Relu&, Shape in) { return in; }
Shape after(const std::string& name, const MaxPool& op, Shape in) {
  return slide(name, in, in.channels, op.kernel, op.stride, op.padding);
}
Shape after(const std::string&, const GlobalAveragePool&, Shape in) { return {in.channels, 1, 1}; }
Shape after(const std::string& name, const Linear& op, Shape in) {
  if (in.elements() != op.in) throw usage_error(name, text(in), fmt::format("an input of {} elements", op.in));
  return {op.out, 1, 1};
}

Shape after(const std::vector<Step>& steps, Shape in) {
  for (const Step& step : steps) in = output_shape(step, in);
  return in;
}

std::vector<TensorSpec> parameters_of(const std::string& name, const Conv2d& op) {
  return {{name + ".weight", {op.out, op.in, op.kernel, op.kernel}}};
}
std::vector<TensorSpec> parameters_of(const std::string& name, const BatchNorm& op) {
  return {{name + ".weight", {op.channels}}, {name + ".bias", {op.channels}}};
}
std::vector<TensorSpec> parameters_of(const std::string& name, const LayerNorm& op) {
  return {{name + ".weight", {op.features}}, {name + ".bias", {op.features}}};
}
std::vector<TensorSpec> parameters_of(const std::string& name, const Linear& op) {
  return {{name + ".weight", {op.out, op.in}}, {name + ".bias", {op.out}}};
}
std::vector<TensorSpec> parameters_of(const std::string&, const Relu&) { return {}; }
std::vector<TensorSpec> parameters_of(const std::string&, const MaxPool&) { return {}; }
std::vector<TensorSpec> parameters_of(const std::string&, const GlobalAveragePool&) { return {}; }

bool mixes(const BatchNorm&) { return true; }
bool mixes(const Conv2d&) { return false; }
bool mixes(const LayerNorm&) { return false; }
bool mixes(const Linear&) { return false; }
bool mixes(const Relu&) { return false; }
bool mixes(const MaxPool&) { return false; }
bool mixes(const GlobalAveragePool&) { return false; }

std::string text(const Conv2d& op) {
  return fmt::format("conv({},{},{},{},{})", op.in, op.out, op.kernel, op.stride, op.padding);
}
std::string text(const BatchNorm& op) { return fmt::format("bn({})", op.channels); }
std::string text(const LayerNorm& op) { return fmt::format("ln({})", op.features); }
std::string text(const Relu&) { return "relu"; }
std::string text(const MaxPool& op) { return fmt::format("max({},{},{})", op.kernel, op.stride, op.padding); }
std::string text(const GlobalAveragePool&) { return "gap"; }
std::string text(const Linear& op) { return fmt::format("linear({},{})", op.in, op.out); }

std::string text(const std::vector<Step>& steps) {
  std::string joined;
  for (const Step& step : steps) {
    if (!joined.empty()) joined += '-';
    joined += std::visit([](const auto& op) { return text(op); }, step.operation);
  }
  return joined;
}

/// Calls `visit(step)` in registration order.
template <class Visit>
void for_each_step(const LayerSpec& layer, Visit visit) {
  for (const Step& step : layer.body) visit(step);
  for (const Step& step : layer.shortcut) visit(step);
}

}  // namespace

std::int64_t TensorSpec::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<TensorSpec> parameters(const LayerSpec& layer) {
  std::vector<TensorSpec> all;
  for_each_step(layer, [&](const Step& step) {
    for (TensorSpec& tensor : std::visit([&](const auto& op) { return parameters_of(step.name, op); }, step.operation))
      all.push_back(std::move(tensor));
  });
  return all;
}

std::vector<TensorSpec> buffers(const LayerSpec& layer) {
  std::vector<TensorSpec> all;
  for_each_step(layer, [&](const Step& step) {
    if (const auto* norm = std::get_if<BatchNorm>(&step.operation)) {
      all.push_back({step.name + ".running_mean", {norm->channels}});
      all.push_back({step.name + ".running_var", {norm->channels}});
    }
  });
  return all;
}

std::int64_t parameter_count(const LayerSpec& layer) {
  std::int64_t count = 0;
  for (const TensorSpec& tensor : parameters(layer)) count += tensor.elements();
  return count;
}

bool mixes_samples(const LayerSpec& layer) {
  bool mixed = false;
  for_each_step(layer, [&](const Step& step) {
    mixed = mixed || std::visit([](const auto& op) { return mixes(op); }, step.operation);
  });
  return mixed;
}

Shape output_shape(const Step& step, Shape in) {
  return std::visit([&](const auto& op) { return after(step.name, op, in); }, step.operation);
}

Shape output_shape(const LayerSpec& layer, Shape in) {
  const Shape out = after(layer.body, in);
  if (layer.residual) {
    const Shape shortcut = after(layer.shortcut, in);
    if (shortcut != out) throw usage_error(layer.name, text(shortcut), "a shortcut of shape " + text(out));
  }
  return out;
}

std::string signature(const LayerSpec& layer, Shape in) {
  std::string key = text(layer.body);
  if (layer.residual) key = fmt::format("residual[{}|{}]", key, text(layer.shortcut));
  return key + '@' + text(in);
}

}  // namespace parabench
