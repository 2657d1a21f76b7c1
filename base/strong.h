// Strong integers and quantities: ids and units that do not mix by accident.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace parabench {

/// An integer id with a tag: `SegmentId` and `Rank` never convert into each other.
template <class Tag>
struct StrongInt {
  int value = 0;
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(int v) : value(v) {}
  constexpr auto operator<=>(const StrongInt&) const = default;
  constexpr StrongInt& operator++() {
    ++value;
    return *this;
  }
};

using SegmentId = StrongInt<struct SegmentTag>;        ///< index into Plan::segments
using StageId = StrongInt<struct StageTag>;            ///< pipeline position, 0-based
using MicroBatchId = StrongInt<struct MicroBatchTag>;  ///< 0-based within a step (and replica)
using ReplicaId = StrongInt<struct ReplicaTag>;        ///< copy of the model, 0-based
using StepId = StrongInt<struct StepTag>;              ///< mini-batch of a window, 0-based
using VersionId = StrongInt<struct VersionTag>;        ///< of weights: 0 as initialised, k as update k writes them
using GroupId = StrongInt<struct GroupTag>;            ///< index into Plan::groups
using CommGroupId = StrongInt<struct CommGroupTag>;    ///< of a communicator: 0 is the world, then those declared
using Rank = StrongInt<struct RankTag>;                ///< 0-based rank of the launch

/// A quantity with a unit: adds and scales, but does not convert to another unit.
template <class Unit, class Value>
struct Quantity {
  Value value = 0;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Value v) : value(v) {}
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, Value k) { return Quantity(a.value * k); }
  friend constexpr Quantity operator*(Value k, Quantity a) { return Quantity(a.value * k); }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  }
};

using Bytes = Quantity<struct ByteUnit, std::int64_t>;  ///< bytes
using Seconds = Quantity<struct SecondUnit, double>;    ///< seconds
using Flops = Quantity<struct FlopUnit, double>;        ///< floating-point operations (a multiply-add counts 2)

}  // namespace parabench

template <class Tag>
struct std::hash<parabench::StrongInt<Tag>> {
  std::size_t operator()(parabench::StrongInt<Tag> id) const noexcept { return std::hash<int>{}(id.value); }
};
