#include "parallelism/exec/input.h"

#include <algorithm>
#include <cstring>

#include "parallelism/exec/stage_state.h"

namespace parabench {

namespace {

/// The pieces of the rank's forwards of a segment, in their order.
std::vector<PieceInput::Piece> pieces_through(const Plan& plan, Rank rank, SegmentId segment) {
  std::vector<PieceInput::Piece> pieces;
  const int replica = replica_of(plan, rank, segment);
  for (const Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind == OpKind::forward && op.segment == segment) pieces.push_back({op.step, replica, op.micro_batch});
  }
  return pieces;
}

}  // namespace

bool reads_input(const Plan& plan, Rank rank) {
  return replica_of(plan, rank, SegmentId(0)) >= 0 || replica_of(plan, rank, last_segment(plan)) >= 0;
}

RankInput open_input(const Plan& plan, Rank rank, const std::shared_ptr<const SampleSource>& source,
                     const InputOptions& options) {
  const auto with_images = pieces_through(plan, rank, SegmentId(0));
  auto with_labels = pieces_through(plan, rank, last_segment(plan));
  std::erase_if(with_labels,
                [&](const PieceInput::Piece& p) { return std::ranges::find(with_images, p) != with_images.end(); });
  RankInput input;
  if (!with_images.empty()) input.images = std::make_unique<PieceInput>(plan, with_images, source, options, true);
  if (!with_labels.empty()) input.labels = std::make_unique<PieceInput>(plan, with_labels, source, options, false);
  return input;
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

PieceInput::Tensors PieceInput::next() {
  const LoadedPiece piece = loader_->next();
  const auto n = static_cast<std::int64_t>(piece.labels.size());
  Tensors tensors;
  tensors.labels = torch::empty({n}, torch::kInt64);
  std::memcpy(tensors.labels.data_ptr(), piece.labels.data(), piece.labels.size() * sizeof(std::int64_t));
  if (piece.pixels.empty()) return tensors;
  // from_blob borrows the loader's memory; the copy below takes layout and type.
  const auto pixels = torch::from_blob(const_cast<float*>(piece.pixels.data()),
                                       {n, shape_.channels, shape_.height, shape_.width}, torch::kFloat32);
  const auto format =
      spec_.layout == Layout::channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  tensors.images =
      torch::empty(pixels.sizes(), torch::TensorOptions(master_type(spec_.precision)).memory_format(format));
  tensors.images.copy_(pixels);
  return tensors;
}

PieceInput::Tensors on_device(PieceInput::Tensors piece, Device& device) {
  for (torch::Tensor* host : {&piece.images, &piece.labels}) {
    if (host->defined()) *host = device.pinned(*host).to(device.where(), host->scalar_type(), /*non_blocking=*/true);
  }
  return piece;
}

}  // namespace parabench
