// The ranks of a plan as a mesh: data x pipeline x tensor.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/strong.h"

namespace parabench::plan {

enum class Axis { data, pipeline, tensor };
constexpr std::array<std::string_view, 3> names_of(Axis) { return {"data", "pipeline", "tensor"}; }

/// The ranks that one collective joins, ascending, and along which axis of the mesh they lie.
struct Group {
  Axis axis = Axis::data;
  std::vector<Rank> ranks;
  bool operator==(const Group&) const = default;
};

/// Neighbours on the tensor axis are neighbouring ranks, then those on the pipeline axis.
struct Mesh {
  int data = 1, pipeline = 1, tensor = 1;
  int size() const { return data * pipeline * tensor; }
  bool operator==(const Mesh&) const = default;
};

struct Coordinates {
  int data = 0, pipeline = 0, tensor = 0;
  bool operator==(const Coordinates&) const = default;
};

Rank rank_at(const Mesh& mesh, const Coordinates& at);

/// Throws usage_error with all values where the axes are not positive or do not multiply to `np`.
void require_ranks(const Mesh& mesh, int np);

}  // namespace parabench::plan
