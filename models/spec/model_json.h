// A model as JSON, for programs that build the same network by other means.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/spec/model.h"

namespace parabench::models {

/// {"name", "input": tensor, "classes", "layers": [{"name", "nodes": [{"name", "operation": {"type", ...}, "inputs"}],
/// "takes": [port], "makes": [{"port", "value"}], "parameters": [tensor of weights], "buffers": likewise}],
/// "tie": {"original": [layer, parameter], "copy": likewise} or null}.
/// A tensor of weights is {"name", "shape"}, in the order of parameters() and buffers() (layer.h); another one
/// {"dims", "kind": an ElementKind}, of one sample. Values are numbered as in Node::inputs. "type" is the
/// operation's name in models/spec/operation.h, beside it all that distinguishes two of them.
nlohmann::json to_json(const ModelSpec& model);

}  // namespace parabench::models
