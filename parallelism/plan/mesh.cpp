#include "parallelism/plan/mesh.h"

#include <string>

#include "base/error.h"

namespace parabench {
namespace {

int& along(Axis axis, Coordinates& at) {
  switch (axis) {
    case Axis::data: return at.data;
    case Axis::pipeline: return at.pipeline;
    case Axis::tensor: return at.tensor;
  }
  return at.data;
}

int length(const Mesh& mesh, Axis axis) {
  switch (axis) {
    case Axis::data: return mesh.data;
    case Axis::pipeline: return mesh.pipeline;
    case Axis::tensor: return mesh.tensor;
  }
  return 0;
}

}  // namespace

std::string_view name(Axis axis) {
  switch (axis) {
    case Axis::data: return "data";
    case Axis::pipeline: return "pipeline";
    case Axis::tensor: return "tensor";
  }
  return {};
}

Rank rank_at(const Mesh& mesh, const Coordinates& at) {
  return Rank((at.data * mesh.pipeline + at.pipeline) * mesh.tensor + at.tensor);
}

Coordinates coordinates_of(const Mesh& mesh, Rank rank) {
  const int place = rank.value / mesh.tensor;
  return {place / mesh.pipeline, place % mesh.pipeline, rank.value % mesh.tensor};
}

Group line_through(const Mesh& mesh, Axis axis, Coordinates at) {
  Group group{axis, {}};
  int& place = along(axis, at);
  for (place = 0; place < length(mesh, axis); ++place) group.ranks.push_back(rank_at(mesh, at));
  return group;
}

void require_ranks(const Mesh& mesh, int np) {
  if (mesh.data > 0 && mesh.pipeline > 0 && mesh.tensor > 0 && mesh.size() == np) return;
  throw usage_error(
      "mesh",
      std::to_string(mesh.data) + " x " + std::to_string(mesh.pipeline) + " x " + std::to_string(mesh.tensor) +
          " (data x pipeline x tensor)",
      "axes of at least 1 that multiply to np, " + std::to_string(np) + ", not " + std::to_string(mesh.size()),
      "try np:" + std::to_string(mesh.size()));
}

}  // namespace parabench
