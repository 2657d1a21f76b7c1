#include "parallelism/plan/mesh.h"

#include <string>

#include "base/error.h"

namespace parabench::plan {

Rank rank_at(const Mesh& mesh, const Coordinates& at) {
  return Rank((at.data * mesh.pipeline + at.pipeline) * mesh.tensor + at.tensor);
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

}  // namespace parabench::plan
