#include "parallelism/exec/input.h"

#include <algorithm>
#include <utility>

namespace parabench {

RankInput open_input(const Plan& plan, Rank rank, const std::shared_ptr<const SampleSource>& source,
                     const InputOptions& options, Device& device) {
  const auto feed = [&](std::vector<InputPiece> pieces, bool images) {
    return pieces.empty() ? nullptr
                          : std::make_unique<PieceFeed>(plan, std::move(pieces), source, options, images, device);
  };
  auto [images, labels] = input_pieces(plan, rank);
  return {.images = feed(std::move(images), true), .labels = feed(std::move(labels), false)};
}

PieceInput::PieceInput(const Plan& plan, std::vector<InputPiece> pieces, std::shared_ptr<const SampleSource> source,
                       const InputOptions& options, bool images, HostMemory memory) {
  std::vector<PieceRequest> requests;
  for (const InputPiece& piece : pieces) requests.push_back({first_position(plan, piece), samples_of(plan, piece)});
  LoaderOptions loader;
  loader.threads = plan.spec.loader;
  loader.values = images;
  loader.skip_corrupt = options.skip_corrupt;
  loader.seed = plan.spec.seed;
  loader.memory = std::move(memory);
  // Past the plan's end the loader would run into pieces that nobody takes: it repeats the last one.
  loader_ = std::make_unique<Loader>(
      std::move(source),
      [requests = std::move(requests)](std::int64_t k) {
        return requests[std::min<std::size_t>(static_cast<std::size_t>(k), requests.size() - 1)];
      },
      loader);
}

PieceFeed::PieceFeed(const Plan& plan, std::vector<InputPiece> pieces, std::shared_ptr<const SampleSource> source,
                     const InputOptions& options, bool images, Device& device)
    : spec_(plan.spec), pieces_(std::move(pieces)) {
  device.enter(/*computes=*/true);
  upload_ = device.upload({source->shape(), source->label_shape(), most_samples(plan, pieces_), images});
  const bool stays = spec_.input == InputKind::resident;
  const std::vector<InputPiece> loaded = stays ? resident_pieces(pieces_) : pieces_;
  input_ = std::make_unique<PieceInput>(plan, loaded, std::move(source), options, images, upload_->host_memory());
  if (!stays) return;
  CountScope scope(device, MemoryCategory::activations);
  for (const InputPiece& piece : loaded) {
    resident_[piece] = network_input(upload_->arrive(input_->next()), spec_);
    upload_->taken();
  }
  input_.reset();
  upload_.reset();
}

void PieceFeed::await() {
  if (!is_resident()) arrived_ = upload_->arrive(input_->next());
}

PieceTensors PieceFeed::take() {
  if (is_resident()) {
    const InputPiece& piece = pieces_[next_++ % pieces_.size()];
    return resident_.at({StepId(0), piece.replica, piece.micro_batch});
  }
  PieceTensors tensors = network_input(arrived_, spec_);
  arrived_ = {};
  upload_->taken();
  return tensors;
}

void PieceFeed::take_into(const PieceTensors& tensors) {
  if (arrived_.images.defined()) tensors.images.copy_(arrived_.images);
  tensors.labels.copy_(arrived_.labels);
  arrived_ = {};
  upload_->taken();
}

}  // namespace parabench
