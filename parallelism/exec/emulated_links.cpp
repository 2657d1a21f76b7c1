#include "parallelism/exec/emulated_links.h"

#include <algorithm>
#include <utility>

namespace parabench::exec {

void EmulatedLinks::enter(comm::Communicator& rank) {
  const std::lock_guard lock(mutex_);
  present_[rank.rank().value] = &rank;
}

void EmulatedLinks::leave(const comm::Communicator& rank) {
  const std::lock_guard lock(mutex_);
  present_[rank.rank().value] = nullptr;
}

void EmulatedLinks::post(const plan::OpRef& first, int ends, const plan::Duration& duration, std::vector<int> ports,
                         Rank own, double posted) {
  const std::lock_guard lock(mutex_);
  Meeting& meeting = meetings_.try_emplace(first, Meeting{.missing = ends, .untold = ends}).first->second;
  meeting.ready = std::max(meeting.ready, posted);
  meeting.ends.push_back(own);
  if (--meeting.missing > 0) return;
  if (duration.on_link_s > 0) {
    advance(meeting.ready);
    meeting.number = next_number_++;
    meeting.passes = true;
    on_their_way_[meeting.number] = &meeting;
    links_.start(meeting.number, {std::move(ports), duration.seconds - duration.on_link_s, duration.on_link_s},
                 meeting.ready);
    meeting.over = links_.over(meeting.number);
  } else {
    meeting.over = meeting.ready + duration.seconds;
  }
  ring(meeting);
}

double EmulatedLinks::over(const plan::OpRef& first, double now) {
  const std::lock_guard lock(mutex_);
  advance(now);
  const auto found = meetings_.find(first);
  Meeting& meeting = found->second;
  if (meeting.missing > 0) return never;
  const double over = meeting.over;
  if (over <= now && !meeting.passes && --meeting.untold == 0) meetings_.erase(found);
  return over;
}

void EmulatedLinks::advance(double now) {
  std::vector<int> numbers;
  while (links_.next() <= now) {
    numbers.clear();
    const double instant = links_.finish(numbers);
    for (const int number : numbers) {
      Meeting& meeting = *on_their_way_.at(number);
      meeting.over = instant;
      meeting.passes = false;
      on_their_way_.erase(number);
    }
    for (auto& [number, meeting] : on_their_way_) {
      const double before = std::exchange(meeting->over, links_.over(number));
      // Who sleeps until a later moment would hear of the end too late.
      if (meeting->over < before) ring(*meeting);
    }
  }
}

void EmulatedLinks::ring(const Meeting& meeting) {
  for (const Rank rank : meeting.ends)
    if (comm::Communicator* there = present_[rank.value]) there->notify();
}

}  // namespace parabench::exec
