#include "parallelism/exec/compression/compressor.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "parallelism/exec/compression/low_rank.h"
#include "parallelism/exec/compression/selection.h"

namespace parabench::exec {
namespace {

torch::Tensor view(const torch::Tensor& bytes, std::int64_t place, torch::IntArrayRef shape, torch::ScalarType type) {
  return torch::from_blob(bytes.data_ptr<std::uint8_t>() + place, shape, bytes.options().dtype(type));
}

std::byte* at(const torch::Tensor& bytes, std::int64_t place) {
  return reinterpret_cast<std::byte*>(bytes.data_ptr<std::uint8_t>()) + place;
}

}  // namespace

Compressor::Compressor(const plan::Plan& plan, const models::ModelSpec& model, const plan::StateLayout& layout,
                       CompressionArenas arenas)
    : plan_(plan),
      by_(compression(plan.spec)),
      sizes_(model),
      arenas_(std::move(arenas)),
      parts_(plan.segments.size()) {
  const torch::ScalarType type = arenas_.gradients.scalar_type();
  for (const SegmentId s : layout.segments) {
    const plan::Segment& segment = plan.segments[s.value];
    const plan::MessageBytes place = plan::message_places(plan, sizes_, s, 1, 1);
    int layer = segment.first_layer + segment.layers;
    // Parts of the last layer lie first.
    std::vector<plan::ParameterSlice> slices = plan::parameter_slices(layout, plan, model, s);
    std::ranges::stable_sort(slices, std::ranges::greater{}, &plan::ParameterSlice::layer);
    std::int64_t encoded = 0, projected = 0;
    for (const plan::ParameterSlice& slice : slices) {
      if (slice.layer != layer) {
        layer = slice.layer;
        const plan::MessageBytes before =
            plan::message_bytes_of_layers(plan, sizes_, layer + 1, segment.first_layer + segment.layers - layer - 1);
        encoded = place.encoded + before.encoded;
        projected = place.projected + before.projected;
      }
      const plan::TensorShape& shape = sizes_.tensors_of(slice.layer)[slice.parameter];
      const bool factored = by_.factors(shape.rows, shape.columns);
      const plan::MessageBytes bytes = plan::message_bytes(by_, shape, layout.element_bytes);
      Part part;
      part.name = slice.tensor.name;
      part.first = slice.range.first;
      part.place = encoded;
      const auto of = [&](const torch::Tensor& arena, const plan::ElementRange& range) {
        const torch::Tensor flat = arena.narrow(0, range.first, range.count);
        return factored ? flat.view({shape.rows, shape.columns}) : flat;
      };
      part.gradient = of(arenas_.gradients, layout.in_gradients(s, slice.range));
      if (arenas_.errors.defined()) part.error = of(arenas_.errors, slice.range);
      if (by_.kind == CompressionKind::topk) {
        part.kept = by_.kept(shape.elements());
      } else if (factored) {
        part.left = view(arenas_.encoded, encoded, {by_.rank, shape.rows}, type);
        part.right = view(arenas_.projected, projected, {by_.rank, shape.columns}, type);
        draw_factor(part.right, part.name, plan.spec.seed);
      } else {
        const bool rounds = by_.kind == CompressionKind::bf16;
        part.sent = view(arenas_.encoded, encoded, {shape.elements()}, rounds ? torch::kBFloat16 : type);
      }
      encoded += bytes.encoded;
      projected += bytes.projected;
      parts_[s.value].push_back(std::move(part));
    }
  }
}

template <class Visit>
void Compressor::for_each_part(SegmentId first, int segments, Visit visit) {
  for (int s = first.value + segments - 1; s >= first.value; --s)
    for (Part& part : parts_[s]) visit(part);
}

std::int64_t Compressor::shift(SegmentId first, int segments, int member, int members) const {
  const std::int64_t begin = plan::message_places(plan_, sizes_, first, segments, 1).encoded;
  return begin * (members - 1) + member * plan::message_bytes(plan_, sizes_, first, segments).encoded;
}

template <class T>
void Compressor::select(Part& part, std::byte* to) {
  const torch::Tensor magnitudes = torch::empty_like(part.error);
  const auto kept = static_cast<std::size_t>(part.kept), all = static_cast<std::size_t>(part.error.numel());
  T* const values = reinterpret_cast<T*>(to);
  take_largest<T>({part.error.data_ptr<T>(), all}, {magnitudes.data_ptr<T>(), all}, part.first, {values, kept},
                  {reinterpret_cast<std::int32_t*>(values + kept), kept});
}

template <class T>
void Compressor::add_selected(Part& part, const std::byte* from) {
  const T* const values = reinterpret_cast<const T*>(from);
  const auto* const places = reinterpret_cast<const std::int32_t*>(values + part.kept);
  T* const sums = part.gradient.data_ptr<T>() - part.first;
  for (std::int64_t i = 0; i < part.kept; ++i) sums[places[i]] += values[i];
}

void Compressor::encode(SegmentId first, int segments, plan::Shard member) {
  torch::NoGradGuard no_grad;
  const bool wide = arenas_.gradients.scalar_type() == torch::kFloat64;
  const std::int64_t own = shift(first, segments, member.index, member.count);
  for_each_part(first, segments, [&](Part& part) {
    if (part.error.defined() && (part.kept > 0 || part.left.defined())) part.error.add_(part.gradient);
    if (part.kept > 0) {
      std::byte* const to = at(arenas_.encoded, part.place + own);
      wide ? select<double>(part, to) : select<float>(part, to);
    } else if (part.left.defined()) {
      at::mm_out(part.left, part.right, part.error.t());
    } else {
      part.sent.copy_(part.gradient);
    }
  });
}

void Compressor::project(SegmentId first, int segments) {
  torch::NoGradGuard no_grad;
  for_each_part(first, segments, [](Part& part) {
    if (!part.left.defined()) return;
    orthonormalise(part.left);
    at::mm_out(part.right, part.left, part.error);
  });
}

void Compressor::decode(SegmentId first, int segments, plan::Shard member) {
  torch::NoGradGuard no_grad;
  const bool wide = arenas_.gradients.scalar_type() == torch::kFloat64;
  std::vector<std::int64_t> shifts;  // of all members
  for (int other = 0; other < member.count && by_.kind == CompressionKind::topk; ++other)
    shifts.push_back(shift(first, segments, other, member.count));
  for_each_part(first, segments, [&](Part& part) {
    if (part.kept > 0) {
      part.gradient.zero_();
      for (const std::int64_t of_member : shifts) {
        const std::byte* const from = at(arenas_.encoded, part.place + of_member);
        wide ? add_selected<double>(part, from) : add_selected<float>(part, from);
      }
    } else if (part.left.defined()) {
      at::mm_out(part.gradient, part.left.t(), part.right);
      part.error.sub_(part.gradient, 1.0 / member.count);
      revive_vectors(part.right, part.name, plan_.spec.seed);
    } else {
      part.gradient.copy_(part.sent);
    }
  });
}

comm::BufferView Compressor::encoded(SegmentId first, int segments, int members) const {
  const bool gathers = by_.kind == CompressionKind::topk;
  const int copies = gathers ? members : 1;
  comm::BufferView buffer{at(arenas_.encoded, plan::message_places(plan_, sizes_, first, segments, copies).encoded),
                          plan::message_bytes(plan_, sizes_, first, segments).encoded * copies};
  if (by_.kind == CompressionKind::bf16) buffer.type = comm::ElementType::bf16;
  if (by_.kind == CompressionKind::powersgd) buffer.type = projected(first, segments).type;
  return buffer;
}

comm::BufferView Compressor::projected(SegmentId first, int segments) const {
  const bool wide = arenas_.gradients.scalar_type() == torch::kFloat64;
  comm::BufferView buffer{.type = wide ? comm::ElementType::f64 : comm::ElementType::f32};
  if (!arenas_.projected.defined()) return buffer;
  buffer.data = at(arenas_.projected, plan::message_places(plan_, sizes_, first, segments, 1).projected);
  buffer.bytes = plan::message_bytes(plan_, sizes_, first, segments).projected;
  return buffer;
}

}  // namespace parabench::exec
