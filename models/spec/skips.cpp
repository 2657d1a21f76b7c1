#include "models/spec/skips.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace parabench::models {
namespace {

[[noreturn]] void complain(const ModelSpec& model, const LayerSpec& layer, const std::string& port, const char* what) {
  throw std::logic_error(fmt::format("{}: layer {} {} '{}'", model.name, layer.name, what, port));
}

}  // namespace

std::vector<Skip> skips(const ModelSpec& model) {
  std::vector<Skip> all;
  std::map<std::string, std::size_t> places;
  std::set<std::string> taken;
  TensorSpec in = model.input;
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    const LayerSpec& layer = model.layers[l];
    for (const TakenPort& port : layer.takes) {
      const auto place = places.find(port.port);
      if (place == places.end()) complain(model, layer, port.port, "takes what no layer before it makes:");
      if (!taken.insert(port.port).second) complain(model, layer, port.port, "takes a second time");
      if (all[place->second].tensor != port.tensor) complain(model, layer, port.port, "takes in another shape");
      all[place->second].to_layer = l;
    }
    const std::vector<TensorSpec> outputs = values(layer, in);
    for (const MadePort& port : layer.makes) {
      if (!places.emplace(port.port, all.size()).second) complain(model, layer, port.port, "makes a second time");
      all.push_back({port.port, l, l, value_of(layer, in, outputs, port.value)});
    }
    in = outputs.back();
  }
  for (const Skip& skip : all)
    if (!taken.contains(skip.port))
      complain(model, model.layers[skip.from_layer], skip.port, "makes what nobody takes:");
  return all;
}

std::vector<int> tensors_of(const ModelSpec& model, const std::vector<Skip>& skips) {
  std::vector<int> tensors;
  std::map<std::pair<int, int>, int> first;  // by layer and value
  for (int i = 0; i < static_cast<int>(skips.size()); ++i) {
    const auto& makes = model.layers[skips[i].from_layer].makes;
    const int value = std::ranges::find(makes, skips[i].port, &MadePort::port)->value;
    tensors.push_back(first.try_emplace({skips[i].from_layer, value}, i).first->second);
  }
  return tensors;
}

}  // namespace parabench::models
