#include "parallelism/exec/input.h"

#include <cstring>

#include "parallelism/exec/stage_state.h"

namespace parabench {

bool holds_first(const Plan& plan, Rank rank) { return plan.ranks[rank.value].stage == StageId(0); }
bool holds_last(const Plan& plan, Rank rank) { return plan.ranks[rank.value].stage == StageId(plan.stages - 1); }

std::vector<PieceInput::Piece> pieces_of(const Plan& plan, Rank rank) {
  std::vector<PieceInput::Piece> pieces;
  if (!holds_first(plan, rank) && !holds_last(plan, rank)) return pieces;
  const RankProgram& program = plan.ranks[rank.value];
  const SegmentId entry = segments_of(plan, program.stage).first;
  for (const Op& op : program.lane(Lane::compute))
    if (op.kind == OpKind::forward && op.segment == entry) pieces.push_back({op.step, program.replica, op.micro_batch});
  return pieces;
}

PieceInput::PieceInput(const Plan& plan, std::vector<Piece> pieces, std::shared_ptr<const SampleSource> source,
                       const InputOptions& options, bool images)
    : pieces_(std::move(pieces)), spec_(plan.spec), shape_(source->shape()) {
  const std::int64_t batch = batch_samples(plan);
  std::vector<PieceRequest> requests;
  for (const Piece& piece : pieces_)
    requests.push_back({piece.step * batch + piece_offset(plan, piece.replica, piece.micro_batch),
                        plan.pieces[piece.replica][piece.micro_batch.value]});
  LoaderOptions loader;
  loader.threads = spec_.loader;
  loader.pixels = images;
  loader.skip_corrupt = options.skip_corrupt;
  loader.seed = spec_.seed;
  // Past the plan's end the loader would run into pieces that nobody takes: it repeats the last one.
  loader_ = std::make_unique<Loader>(
      std::move(source),
      [requests = std::move(requests)](std::int64_t k) {
        return requests[std::min<std::size_t>(static_cast<std::size_t>(k), requests.size() - 1)];
      },
      loader);
}

PieceInput::Tensors PieceInput::next(Device& device) {
  const LoadedPiece piece = loader_->next();
  const auto n = static_cast<std::int64_t>(piece.labels.size());
  Tensors tensors;
  tensors.labels = torch::empty({n}, torch::kInt64);
  std::memcpy(tensors.labels.data_ptr(), piece.labels.data(), piece.labels.size() * sizeof(std::int64_t));
  tensors.labels = device.upload(std::move(tensors.labels));
  if (piece.pixels.empty()) return tensors;
  // from_blob borrows the loader's memory; the copy below takes layout and type.
  const auto pixels = torch::from_blob(const_cast<float*>(piece.pixels.data()),
                                       {n, shape_.channels, shape_.height, shape_.width}, torch::kFloat32);
  const auto format =
      spec_.layout == Layout::channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  tensors.images =
      torch::empty(pixels.sizes(), torch::TensorOptions(master_type(spec_.precision)).memory_format(format));
  tensors.images.copy_(pixels);
  tensors.images = device.upload(std::move(tensors.images));
  return tensors;
}

}  // namespace parabench
