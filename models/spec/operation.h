// What a layer can compute: one type and one file pair for each operation.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/operations/adaptive_average_pool.h"
#include "models/spec/operations/add.h"
#include "models/spec/operations/attention.h"
#include "models/spec/operations/average_pool.h"
#include "models/spec/operations/batch_norm.h"
#include "models/spec/operations/batch_norm_by.h"
#include "models/spec/operations/batch_statistics.h"
#include "models/spec/operations/concat.h"
#include "models/spec/operations/conv2d.h"
#include "models/spec/operations/dropout.h"
#include "models/spec/operations/embedding.h"
#include "models/spec/operations/flatten.h"
#include "models/spec/operations/gelu.h"
#include "models/spec/operations/global_average_pool.h"
#include "models/spec/operations/group_norm.h"
#include "models/spec/operations/layer_norm.h"
#include "models/spec/operations/leaky_relu.h"
#include "models/spec/operations/linear.h"
#include "models/spec/operations/max_pool.h"
#include "models/spec/operations/pad.h"
#include "models/spec/operations/positions.h"
#include "models/spec/operations/relu.h"
#include "models/spec/operations/relu6.h"
#include "models/spec/operations/upsample.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Every operation says what follows from its inputs: output() (throws usage_error where they do not fit), count() of
/// what it costs, text(), the same for equal work. Those that have any name parameters() and buffers() in torch's
/// order. Constants, where they are not the defaults below: arity, mixes_samples, is_view, overwrites_input,
/// backward_needs_output, passes_gradient_on.
using Operation = std::variant<Conv2d, BatchNorm, LayerNorm, Relu, MaxPool, GlobalAveragePool, Linear, Flatten, Add,
                               Concat, Relu6, LeakyRelu, Gelu, AveragePool, AdaptiveAveragePool, GroupNorm, Dropout,
                               Upsample, Pad, Embedding, Positions, Attention, BatchStatistics, BatchNormBy>;

/// How many values it reads; any_arity: one or more.
int arity(const Operation& operation);
/// Whether a sample's output depends on the other samples of its micro-batch, as behind a batch norm.
bool mixes_samples(const Operation& operation);
/// Whether the output is the input's memory, read in another shape.
bool is_view(const Operation& operation);
/// Whether it can write its output over an input that nobody else needs.
bool overwrites_input(const Operation& operation);
/// Whether its backward reads its output, which then must not be overwritten.
bool backward_needs_output(const Operation& operation);

/// Whether its inputs' gradients are its output's as it is.
bool passes_gradient_on(const Operation& operation);

TensorSpec output(const Operation& operation, const std::string& name, std::span<const TensorSpec> inputs);
std::vector<ParameterSpec> parameters(const Operation& operation, const std::string& name);
std::vector<ParameterSpec> buffers(const Operation& operation, const std::string& name);
void count(const Operation& operation, Tally& tally);
std::string to_text(const Operation& operation);

}  // namespace parabench::models
