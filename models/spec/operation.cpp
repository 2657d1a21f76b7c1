#include "models/spec/operation.h"

#include <fmt/format.h>

#include "base/error.h"

namespace parabench::models {

int arity(const Operation& operation) {
  return std::visit(
      []<class Op>(const Op&) {
        if constexpr (requires { Op::arity; }) return Op::arity;
        return 1;
      },
      operation);
}

bool mixes_samples(const Operation& operation) {
  return std::visit(
      []<class Op>(const Op&) {
        return requires { Op::mixes_samples; };
      },
      operation);
}

bool is_view(const Operation& operation) {
  return std::visit(
      []<class Op>(const Op&) {
        return requires { Op::is_view; };
      },
      operation);
}

bool overwrites_input(const Operation& operation) {
  return std::visit(
      []<class Op>(const Op&) {
        return requires { Op::overwrites_input; };
      },
      operation);
}

bool backward_needs_output(const Operation& operation) {
  return std::visit(
      []<class Op>(const Op&) {
        return requires { Op::backward_needs_output; };
      },
      operation);
}

bool passes_gradient_on(const Operation& operation) {
  return std::visit(
      []<class Op>(const Op&) {
        return requires { Op::passes_gradient_on; };
      },
      operation);
}

TensorSpec output(const Operation& operation, const std::string& name, std::span<const TensorSpec> inputs) {
  const int wanted = arity(operation), given = static_cast<int>(inputs.size());
  if (wanted == any_arity ? given < 1 : given != wanted)
    throw usage_error(name, std::to_string(given) + " inputs", fmt::format("{} inputs", wanted));
  return std::visit([&](const auto& op) { return op.output(name, inputs); }, operation);
}

std::vector<ParameterSpec> parameters(const Operation& operation, const std::string& name) {
  return std::visit(
      [&](const auto& op) -> std::vector<ParameterSpec> {
        if constexpr (requires { op.parameters(name); }) return op.parameters(name);
        return {};
      },
      operation);
}

std::vector<ParameterSpec> buffers(const Operation& operation, const std::string& name) {
  return std::visit(
      [&](const auto& op) -> std::vector<ParameterSpec> {
        if constexpr (requires { op.buffers(name); }) return op.buffers(name);
        return {};
      },
      operation);
}

void count(const Operation& operation, Tally& tally) {
  std::visit([&](const auto& op) { op.count(tally); }, operation);
}

std::string to_text(const Operation& operation) {
  return std::visit([](const auto& op) { return op.text(); }, operation);
}

}  // namespace parabench::models
