#include "parallelism/exec/equivalence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallelism/exec/executor.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/parameter_server.h"

namespace parabench::exec {
namespace {

constexpr int values_per_channel = 8;

/// All tensors of a stage one after the other.
torch::Tensor flatten(const std::vector<std::vector<torch::Tensor>>& layers) {
  std::vector<torch::Tensor> parts;
  for (const auto& layer : layers)
    for (const auto& t : layer) parts.push_back(t.reshape({-1}));
  return parts.empty() ? torch::empty({0}, torch::kFloat64) : torch::cat(parts);
}

/// The inverse, with the layers' own shapes.
std::vector<std::vector<torch::Tensor>> unflatten(
    const torch::Tensor& flat, const models::ModelSpec& model, const std::vector<int>& layers,
    std::vector<models::ParameterSpec> (*specs)(const models::LayerSpec&)) {
  std::vector<std::vector<torch::Tensor>> result;
  std::int64_t offset = 0;
  for (int l : layers) {
    auto& layer = result.emplace_back();
    for (const models::ParameterSpec& spec : specs(model.layers[l])) {
      layer.push_back(flat.narrow(0, offset, spec.elements()).view(spec.shape));
      offset += spec.elements();
    }
  }
  return result;
}

std::int64_t elements(const models::ModelSpec& model, const std::vector<int>& layers,
                      std::vector<models::ParameterSpec> (*specs)(const models::LayerSpec&)) {
  std::int64_t sum = 0;
  for (int l : layers)
    for (const models::ParameterSpec& spec : specs(model.layers[l])) sum += spec.elements();
  return sum;
}

comm::BufferView bytes_of(const torch::Tensor& flat) {
  return {flat.data_ptr(), static_cast<std::int64_t>(flat.nbytes()), comm::ElementType::byte};
}

/// Collective: brings the latest weights of a segment to the ranks that share them, where these do not stay. `groups`:
/// of collective_groups(), by lane.
void gather_weights(const plan::Plan& plan, const std::map<plan::LaneKey, CommGroupId>& groups, StageState& state,
                    comm::Communicator& comm, SegmentId segment) {
  if (!state.keeps_shares()) return;
  const auto brings = [segment](const plan::Op& op) {
    return op.segment <= segment && segment.value < op.segment.value + op.segments;
  };
  for (const plan::Lane& lane : plan.ranks[comm.rank().value].lanes) {
    if (!plan::is_collectives_of(lane.key, plan::Payload::parameters)) continue;
    const auto op = std::ranges::find_if(lane.ops, brings);
    if (op == lane.ops.end()) continue;
    const plan::Shard shard = plan::shard_of(plan, comm.rank(), *op);
    const comm::DeviceEvent brought = state.bring_share(op->segment, op->segments, shard, nullptr);
    comm::BufferView whole = state.weights(op->segment, op->segments, op->version);
    whole.ready = brought.get();
    comm.wait(comm.all_gather(whole, state.shares(op->segment, op->segments, shard.count), groups.at(lane.key)));
  }
}

/// Of servers that share a stage each sent its share and zeros for the others': together they have the whole.
void join_shares(const plan::Plan& plan, Trained& trained) {
  if (!plan::served_in_shares(plan)) return;
  const int first = plan.servers.front().value;
  for (std::size_t layer = 0; layer < trained.parameters[first].size(); ++layer) {
    for (std::size_t p = 0; p < trained.parameters[first][layer].size(); ++p) {
      torch::Tensor& whole = trained.parameters[first][layer][p];
      for (const Rank server : plan.servers) {
        torch::Tensor& share = trained.parameters[server.value][layer][p];
        if (server.value != first) whole.add_(share);
        share = whole;
      }
    }
  }
}

/// Keeps the larger; NaN is the largest of all.
bool exceeds(double value, double worst) { return !std::isnan(worst) && !(value <= worst); }

}  // namespace

int steady_piece(const models::ModelSpec& model) {
  if (!models::mixes_samples(model)) return 2;
  std::int64_t smallest_map = values_per_channel;
  const std::vector<TensorSpec> all = models::boundaries(model);
  for (std::size_t l = 1; l + 1 < all.size(); ++l)
    if (all[l].kind() != ElementKind::sums)
      smallest_map = std::min<std::int64_t>(smallest_map, all[l].elements_per_row());
  return std::max<int>(2, static_cast<int>((values_per_channel + smallest_map - 1) / smallest_map));
}

plan::Plan small_pieces(const plan::Plan& plan, const models::ModelSpec& model, int steps) {
  Case spec = plan.spec;
  int smallest = plan.pieces[0][0];
  for (const auto& replica : plan.pieces)
    for (int n : replica) smallest = std::min(smallest, n);
  std::vector<std::vector<int>> pieces = plan.pieces;
  spec.batch = 0;
  for (auto& replica : pieces)
    for (int& n : replica) {
      n += steady_piece(model) - smallest;
      spec.batch += n;
    }
  spec.precision = Precision::fp64;
  plan::Plan small = plan::shorten_rounds(plan, plan::most_verified_round);
  spec.strategy = small.spec.strategy;
  small = plan::unroll(small, steps);
  small.spec = spec;
  small.pieces = std::move(pieces);
  return small;
}

Trained train_and_gather(const plan::Plan& plan, const models::ModelSpec& model,
                         std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options,
                         comm::Communicator& comm, Device& device) {
  StageState state(plan, model, comm, device);
  RankInput input = open_input(plan, comm.rank(), source, options, device);
  const Execution execution = execute(plan, model, state, comm, input, device, std::nullopt);

  const auto groups = plan::collective_groups(plan).numbers;
  const auto mine = state.snapshot([&](SegmentId s) { gather_weights(plan, groups, state, comm, s); });
  const auto parameters_message = [](int rank) {
    return comm::Message{comm::Channel::control, static_cast<std::uint64_t>(2 * rank)};
  };
  const auto buffers_message = [](int rank) {
    return comm::Message{comm::Channel::control, static_cast<std::uint64_t>(2 * rank + 1)};
  };
  Trained trained{.arrivals = gather_arrivals(plan, execution, comm)};
  if (comm.rank() != Rank(0)) {
    const torch::Tensor p = flatten(mine.parameters), b = flatten(mine.buffers);
    comm.wait(comm.send(bytes_of(p), Rank(0), parameters_message(comm.rank().value)));
    comm.wait(comm.send(bytes_of(b), Rank(0), buffers_message(comm.rank().value)));
    return trained;
  }
  trained.parameters.push_back(mine.parameters);
  trained.buffers.push_back(mine.buffers);
  for (int r = 1; r < comm.size(); ++r) {
    const std::vector<int> layers = plan::layers_held(plan, Rank(r));
    const auto p = torch::empty({elements(model, layers, models::parameters)}, torch::kFloat64);
    const auto b = torch::empty({elements(model, layers, models::buffers)}, torch::kFloat64);
    comm.wait(comm.recv(bytes_of(p), Rank(r), parameters_message(r)));
    comm.wait(comm.recv(bytes_of(b), Rank(r), buffers_message(r)));
    trained.parameters.push_back(unflatten(p, model, layers, models::parameters));
    trained.buffers.push_back(unflatten(b, model, layers, models::buffers));
  }
  join_shares(plan, trained);
  return trained;
}

std::string describe(const Difference& difference, const models::ModelSpec& model) {
  const std::string updates =
      fmt::format("updates differ by up to {:.3g} ({})", difference.update, difference.worst_parameter);
  return models::mixes_samples(model) ? fmt::format("{}, batch-norm statistics by {:.3g}", updates, difference.buffer)
                                      : updates;
}

Difference compare(const plan::Plan& plan, const models::ModelSpec& model, const Trained& trained,
                   const ReferenceState& reference, const Rounding* rounding, double tolerance) {
  Difference worst;
  const auto is_left_out = [&](double difference, double nudged) {
    const bool left_out = difference > tolerance && explains(nudged, difference);
    worst.left_out += left_out;
    return left_out;
  };
  for (std::size_t r = 0; r < trained.parameters.size(); ++r) {
    const Rank rank(static_cast<int>(r));
    const std::vector<int> layers = plan::layers_held(plan, rank);
    const int missed = plan::updates_missed(plan.spec, rank, plan.steps);
    const auto& after = missed == 0 ? reference.parameters : reference.earlier[missed - 1];
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const models::LayerSpec& layer = model.layers[layers[l]];
      const auto specs = models::parameters(layer);
      for (std::size_t p = 0; p < specs.size(); ++p) {
        const auto& before = reference.initial[layers[l]][p];
        const auto expected = after[layers[l]][p] - before;
        const double d = relative_difference(trained.parameters[r][l][p] - before, expected);
        if ((rounding && is_left_out(d, rounding->updates[layers[l]][p])) || !exceeds(d, worst.update)) continue;
        worst.update = d;
        worst.worst_parameter = fmt::format("{} (rank {})", specs[p].name, r);
      }
      for (std::size_t b = 0; b < trained.buffers[r][l].size(); ++b) {
        const double d = relative_difference(trained.buffers[r][l][b], reference.buffers[r][layers[l]][b]);
        if (rounding && is_left_out(d, rounding->buffers[r][layers[l]][b])) continue;
        if (exceeds(d, worst.buffer)) worst.buffer = d;
      }
    }
  }
  return worst;
}

}  // namespace parabench::exec
