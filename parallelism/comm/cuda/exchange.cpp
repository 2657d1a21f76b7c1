#include "parallelism/comm/cuda/exchange.h"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace parabench::comm {
namespace {

struct Exchanges {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Exchange>> by_name;
  int named = 0;
};

Exchanges& exchanges() {
  static Exchanges all;
  return all;
}

}  // namespace

Exchange::Exchange(const RankGroups& groups) : groups_(groups), hosts_(groups.ranks()) {}

void Exchange::join(Communicator& host) {
  const std::lock_guard lock(mutex_);
  hosts_[host.rank().value] = &host;
}

void Exchange::leave(Rank rank) {
  const std::lock_guard lock(mutex_);
  hosts_[rank.value] = nullptr;
}

void Exchange::wake(Rank rank) {
  const std::lock_guard lock(mutex_);
  if (hosts_[rank.value]) hosts_[rank.value]->notify();
}

void Exchange::wake_members(CommGroupId group) {
  for (const Rank member : groups_.members(group)) wake(member);
}

void Exchange::post(const MessageLane& lane, std::shared_ptr<MessageOffer> offer) {
  {
    const std::lock_guard lock(mutex_);
    offers_[lane].push_back(std::move(offer));
  }
  wake(lane.to);
}

std::shared_ptr<MessageOffer> Exchange::take(const MessageLane& lane) {
  const std::lock_guard lock(mutex_);
  auto& waiting = offers_[lane];
  if (waiting.empty()) return nullptr;
  std::shared_ptr<MessageOffer> offer = std::move(waiting.front());
  waiting.pop_front();
  return offer;
}

std::shared_ptr<CommonCollective> Exchange::collective(CommGroupId group, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto place = collectives_.try_emplace({group, number}).first;
  Open& open = place->second;
  if (!open.collective) {
    open.collective = std::make_shared<CommonCollective>();
    open.collective->seats.resize(groups_.members(group).size());
  }
  std::shared_ptr<CommonCollective> collective = open.collective;
  if (++open.members == std::ssize(groups_.members(group))) collectives_.erase(place);
  return collective;
}

std::shared_ptr<Exchange> meet_at_exchange(Communicator& host) {
  Exchanges& all = exchanges();
  std::string own = std::to_string(getpid());
  if (host.rank() == Rank(0)) {
    const std::lock_guard lock(all.mutex);
    own = fmt::format("{} {}", own, ++all.named);
  }
  const std::vector<std::string> names = all_gather(host, own);
  const std::string process = names[0].substr(0, names[0].find(' '));
  for (int r = 1; r < host.size(); ++r) {
    if (names[r] == process) continue;
    throw std::invalid_argument(
        fmt::format("device pointers of rank {}: it is in process {}, expected the process {} "
                    "of rank 0",
                    r, names[r], process));
  }
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.by_name, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<Exchange> exchange = all.by_name[names[0]].lock();
  if (!exchange) all.by_name[names[0]] = exchange = std::make_shared<Exchange>(host.groups());
  return exchange;
}

}  // namespace parabench::comm
