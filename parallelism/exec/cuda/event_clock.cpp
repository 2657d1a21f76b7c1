#include "parallelism/exec/cuda/event_clock.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace parabench::exec {
namespace {

/// cudaEventElapsedTime is a float of milliseconds: exact to a microsecond over some seconds only. So every so many
/// marks one serves as the origin of those after it.
constexpr std::size_t marks_per_origin = 512;
constexpr int looks_at_clock = 20;

double elapsed_s(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  comm::check_cuda(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace

EventClock::EventClock(cudaStream_t stream, double (*host_clock)()) : stream_(stream), host_clock_(host_clock) {
  comm::check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  double host_s = 0;
  origin_ = look(host_s);
  device_s_ = {0};
  looks_ = {{0, host_s}};
}

comm::Event EventClock::take_event() {
  if (spare_.empty()) return comm::make_timing_event();
  comm::Event event = std::move(spare_.back());
  spare_.pop_back();
  return event;
}

void EventClock::reserve(int marks) {
  while (std::ssize(spare_) < marks) spare_.push_back(comm::make_timing_event());
}

EventClock::Point EventClock::mark() {
  comm::Event event = take_event();
  comm::check_cuda(cudaEventRecord(event.get(), stream_), "cudaEventRecord");
  marks_.push_back(std::move(event));
  return {static_cast<int>(device_s_.size() + marks_.size() - 1), marks_.back().get()};
}

comm::Event EventClock::look(double& host_s) {
  double narrowest = std::numeric_limits<double>::infinity();
  comm::Event best = take_event(), next = take_event();
  for (int i = 0; i < looks_at_clock; ++i) {
    const double before = host_clock_();
    comm::check_cuda(cudaEventRecord(next.get(), stream_), "cudaEventRecord");
    comm::check_cuda(cudaEventSynchronize(next.get()), "cudaEventSynchronize");
    const double after = host_clock_();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    host_s = (before + after) / 2;
    std::swap(best, next);
  }
  spare_.push_back(std::move(next));
  return best;
}

void EventClock::synchronise() {
  comm::check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  if (marks_.empty()) return;
  double host_s = 0;
  marks_.push_back(look(host_s));
  cudaEvent_t origin = origin_.get();
  double origin_s = device_s_.back();
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    device_s_.push_back(origin_s + elapsed_s(origin, marks_[i].get()));
    // The last look, the origin of the first mark, may be long ago.
    if (i % marks_per_origin != 0) continue;
    origin = marks_[i].get();
    origin_s = device_s_.back();
  }
  looks_.push_back({device_s_.back(), host_s});
  spare_.push_back(std::exchange(origin_, std::move(marks_.back())));
  marks_.pop_back();
  std::ranges::move(marks_, std::back_inserter(spare_));
  marks_.clear();
}

double EventClock::seconds(int number) const { return host_seconds(device_s_.at(static_cast<std::size_t>(number))); }

double EventClock::seconds(cudaEvent_t event) const {
  return host_seconds(device_s_.back() + elapsed_s(origin_.get(), event));
}

double EventClock::host_seconds(double device_s) const {
  const auto after = std::ranges::lower_bound(looks_, device_s, {}, &Look::device_s);
  const Look& from = after == looks_.begin() ? looks_.front() : *std::prev(after);
  const Look& a = after == looks_.end() && looks_.size() > 1 ? *std::prev(after, 2) : from;
  const Look& b = after == looks_.end() ? looks_.back() : *after;
  const double pace = b.device_s > a.device_s ? (b.host_s - a.host_s) / (b.device_s - a.device_s) : 1;
  return from.host_s + (device_s - from.device_s) * pace;
}

}  // namespace parabench::exec
