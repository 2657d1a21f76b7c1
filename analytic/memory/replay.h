// A sequence of tensors through the caching allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace parabench::analytic {

/// Asks the allocator for a tensor, or gives one back.
struct Request {
  static constexpr int none = -1;
  std::int64_t bytes = 0;
  int stream = 0;
  int gives_back = none;  ///< place in the sequence of the request whose tensor comes back; none: asks for one
};

struct Replay {
  std::int64_t reserved_peak = 0;  ///< bytes of the segments that the allocator takes at most
  std::size_t replayed = 0;        ///< requests that the allocator really saw
};

/// What the caching allocator reserves of `limit` bytes for the requests, in order; nullopt where they do not suffice.
/// Steps of training repeat their requests. Once they do, and the allocator comes back to where it was some periods
/// before, it will do so again for as long as they repeat: these are skipped, and the result is that of all requests.
/// O(n), and O(log blocks) for each request that is not skipped.
std::optional<Replay> replay(std::span<const Request> requests, std::int64_t limit);

}  // namespace parabench::analytic
