#include "models/torch/max_pool.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <limits>

namespace parabench {
namespace {

using torch::Tensor;

/// One plane: the greatest value of each window and its position in the plane.
template <class T>
void pool_plane(const MaxPool& op, const T* in, int height, int width, T* out, std::int64_t* index, int out_height,
                int out_width) {
  for (int row = 0; row < out_height; ++row, out += out_width, index += out_width) {
    const int top = row * op.stride - op.padding;
    const int first = std::max(top, 0), last = std::min(top + op.kernel, height);
    for (int column = 0; column < out_width; ++column) {
      out[column] = -std::numeric_limits<T>::infinity();
      index[column] = first * width + std::max(column * op.stride - op.padding, 0);
    }
    for (int y = first; y < last; ++y)
      for (int tap = 0; tap < op.kernel; ++tap) {
        // Columns whose window has this tap on the map: 0 <= column * stride + shift < width.
        const int shift = tap - op.padding;
        const int begin = shift < 0 ? (-shift + op.stride - 1) / op.stride : 0;
        const int end = std::min(out_width, (width - shift + op.stride - 1) / op.stride);
        for (int column = begin; column < end; ++column) {
          const int position = y * width + column * op.stride + shift;
          const T value = in[position];
          const bool take = (value > out[column]) | (value != value);
          out[column] = take ? value : out[column];
          index[column] = take ? position : index[column];
        }
      }
  }
}

struct PlainMaxPool : torch::autograd::Function<PlainMaxPool> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, MaxPool op) {
    const int height = static_cast<int>(x.size(2)), width = static_cast<int>(x.size(3));
    const int out_height = (height + 2 * op.padding - op.kernel) / op.stride + 1;
    const int out_width = (width + 2 * op.padding - op.kernel) / op.stride + 1;
    Tensor y = torch::empty({x.size(0), x.size(1), out_height, out_width}, x.options());
    Tensor indices = torch::empty(y.sizes(), torch::kLong);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "max_pool", [&] {
      const auto* from = x.const_data_ptr<scalar_t>();
      auto* to = y.mutable_data_ptr<scalar_t>();
      auto* index = indices.mutable_data_ptr<std::int64_t>();
      const std::int64_t map = std::int64_t{1} * height * width, out_map = std::int64_t{1} * out_height * out_width;
      at::parallel_for(0, x.size(0) * x.size(1), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto plane = begin; plane < end; ++plane)
          pool_plane(op, from + plane * map, height, width, to + plane * out_map, index + plane * out_map, out_height,
                     out_width);
      });
    });
    context->save_for_backward({x, indices});
    for (const auto& [name, value] : {std::pair{"kernel", op.kernel}, {"stride", op.stride}, {"padding", op.padding}})
      context->saved_data[name] = value;
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto value = [&](const char* name) { return context->saved_data[name].toInt(); };
    return {at::max_pool2d_with_indices_backward(gradients[0].contiguous(), saved[0], value("kernel"), value("stride"),
                                                 value("padding"), /*dilation=*/1, /*ceil_mode=*/false, saved[1]),
            Tensor()};
  }
};

}  // namespace

Tensor max_pool(const MaxPool& op, const Tensor& x) {
  if (x.is_contiguous() && (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kFloat64))
    return PlainMaxPool::apply(x, op);
  return at::max_pool2d(x, op.kernel, op.stride, op.padding);
}

}  // namespace parabench
