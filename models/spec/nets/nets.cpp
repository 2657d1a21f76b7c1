#include "models/spec/nets/nets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/choice.h"
#include "base/error.h"
#include "models/spec/nets/amoebanet.h"
#include "models/spec/nets/mlp.h"
#include "models/spec/nets/mobilenet.h"
#include "models/spec/nets/resnet.h"
#include "models/spec/nets/transformer.h"
#include "models/spec/nets/unet.h"
#include "models/spec/nets/vgg.h"

namespace parabench::models {
namespace {

/// Throws where the samples are none.
int image_channels(const std::string& net, const NetRequest& request) {
  if (request.input.rank() != 3)
    throw usage_error("data set for " + net, to_text(request.input), "images: channels x height x width");
  return static_cast<int>(request.input[0]);
}

void require_positions(int sequence, std::int64_t length) {
  if (sequence >= length) return;
  throw usage_error("sequence of transformer", std::to_string(sequence),
                    fmt::format("at least {}, the length of the data set's samples", length),
                    fmt::format("try transformer[sequence={0}], or sequence={1} for the data set", length, sequence));
}

std::vector<Net> make_nets() {
  std::vector<Net> all;
  for (const ResNetVariant& variant : resnet_variants()) {
    const std::string name(variant.name);
    all.push_back({name,
                   "residual network (He et al. 2015)",
                   Samples::images,
                   {{"channels", 64, 1, 4096}},
                   [&variant, name](const NetRequest& r) {
                     return resnet_layers(variant, r.values[0], image_channels(name, r), r.classes, r.small);
                   }});
  }
  all.push_back({"resnet1001",
                 "residual network of 1001 layers for small images, pre-activation (He et al. 2016)",
                 Samples::images,
                 {{"channels", 16, 1, 4096}},
                 [](const NetRequest& r) {
                   return resnet_1001_layers(r.values[0], image_channels("resnet1001", r), r.classes);
                 }});
  for (const VggVariant& variant : vgg_variants()) {
    const std::string name(variant.name);
    all.push_back({name,
                   "convolutions of 3x3 and pools (Simonyan and Zisserman 2014)",
                   Samples::images,
                   {{"channels", 64, 1, 4096}},
                   [&variant, name](const NetRequest& r) {
                     image_channels(name, r);
                     return vgg_layers(variant, r.values[0], r.input, r.classes, r.small);
                   }});
  }
  all.push_back({"mobilenetv2",
                 "inverted residuals with depthwise convolutions (Sandler et al. 2018); all widths are multiples of 8",
                 Samples::images,
                 {{"channels", 32, 8, 4096}},
                 [](const NetRequest& r) {
                   return mobilenet_v2_layers(r.values[0], image_channels("mobilenetv2", r), r.classes, r.small);
                 }});
  all.push_back({"unet",
                 "segmentation with long skips (Ronneberger et al. 2015; as GPipe's and torchgpipe's benchmarks)",
                 Samples::masks,
                 {{"depth", 5, 1, 10}, {"convolutions", 5, 1, 100}, {"channels", 64, 2, 1024}},
                 [](const NetRequest& r) {
                   image_channels("unet", r);
                   return unet_layers({r.values[0], r.values[1], r.values[2]}, r.input, r.classes);
                 }});
  all.push_back({"amoebanetd",
                 "evolved cells that read the two before them (Real et al. 2018)",
                 Samples::images,
                 {{"layers", 18, 3, 999}, {"filters", 256, 16, 4096}},
                 [](const NetRequest& r) {
                   image_channels("amoebanetd", r);
                   return amoebanet_d_layers({r.values[0], r.values[1]}, r.input, r.classes);
                 }});
  all.push_back({"transformer",
                 "GPT-2 style decoder, norms first (Radford et al. 2019)",
                 Samples::tokens,
                 {{"layers", 12, 1, 10'000},
                  {"hidden", 768, 1, 100'000},
                  {"heads", 12, 1, 10'000},
                  {"sequence", 1024, 1, 1'000'000},
                  switch_parameter("tied", false)},
                 [](const NetRequest& r) {
                   if (r.input.kind() != ElementKind::int64)
                     throw usage_error("data set for transformer", to_text(r.input), "tokens");
                   require_positions(r.values[3], r.input[0]);
                   return transformer_layers({r.values[0], r.values[1], r.values[2], r.values[3]}, r.classes);
                 },
                 [](const NetRequest& r, const std::vector<LayerSpec>& layers) {
                   return r.values[4] ? std::optional(transformer_tie(layers)) : std::nullopt;
                 }});
  all.push_back({"mlp",
                 "multilayer perceptron with residual connections",
                 Samples::images,
                 {{"layers", 12, 2, 10'000}, {"hidden", 512, 1, 100'000}},
                 [](const NetRequest& r) { return mlp_layers(r.values[0], r.values[1], r.input, r.classes); }});
  return all;
}

}  // namespace

const std::vector<Net>& nets() {
  static const std::vector<Net> all = make_nets();
  return all;
}

ChosenNet choose_net(const NamedChoice& model) {
  const auto net = std::ranges::find(nets(), model.name, &Net::name);
  if (net == nets().end()) {
    std::vector<std::string> names;
    for (const Net& known : nets()) names.push_back(known.name);
    throw usage_error("model", model.name, "a known model", nearest_hint(model.name, names));
  }
  std::vector<ChoiceParameter> parameters = net->parameters;
  read_parameters(model, parameters);
  ChosenNet chosen{*net, {}, {model.name, {}}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    chosen.values.push_back(parameters[i].value);
    if (parameters[i].value != net->parameters[i].value)
      chosen.canonical.parameters.emplace_back(parameters[i].name, value_text(parameters[i]));
  }
  return chosen;
}

}  // namespace parabench::models
