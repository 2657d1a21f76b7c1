// Where ranks that are threads of one process meet to hand over device pointers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/fabric.h"
#include "parallelism/comm/mailbox.h"

namespace parabench::comm {

/// A message whose receiver may copy it from the sender's memory. Everything but what never changes is under the mutex.
struct MessageOffer {
  MessageHeader header;
  const void* data = nullptr;
  void* ready = nullptr;  ///< an event after which the data is there; may be null

  std::mutex mutex;
  bool withdrawn = false;  ///< by a sender that failed: data and ready are no more
  DeviceEvent copied;      ///< once the receiver has given out its copy
};

/// One collective of a group, by position of the members. All of it is under the mutex.
struct CommonCollective {
  struct Seat {
    Post post;
    Shares shares;
    void* data = nullptr;
    void* ready = nullptr;
    DeviceEvent moved;  ///< once the member has given out its part
  };

  std::mutex mutex;
  std::vector<Seat> seats;
  int posted = 0, given_out = 0;
  bool broken = false;  ///< a member failed: its buffer is no more
};

/// What all ranks of a world share. Any of them may call at any time.
class Exchange {
 public:
  explicit Exchange(const RankGroups& groups);

  /// From join() to leave() other ranks wake this one, by `host`.
  void join(Communicator& host);
  void leave(Rank rank);
  void wake(Rank rank);
  void wake_members(CommGroupId group);

  /// Messages of a lane are taken in the order posted; nullptr when there is none.
  void post(const MessageLane& lane, std::shared_ptr<MessageOffer> offer);
  std::shared_ptr<MessageOffer> take(const MessageLane& lane);

  /// The collective of so high a number in the group, for each member once.
  std::shared_ptr<CommonCollective> collective(CommGroupId group, std::uint64_t number);

 private:
  struct Open {
    std::shared_ptr<CommonCollective> collective;
    int members = 0;  // that have come for it
  };

  RankGroups groups_;
  std::mutex mutex_;
  std::vector<Communicator*> hosts_;  // by rank; null where it has left
  std::map<MessageLane, std::deque<std::shared_ptr<MessageOffer>>> offers_;
  std::map<std::pair<CommGroupId, std::uint64_t>, Open> collectives_;
};

/// The exchange of a world of this process. Collective over `host`. Throws std::invalid_argument unless all ranks are
/// threads of one process.
std::shared_ptr<Exchange> meet_at_exchange(Communicator& host);

}  // namespace parabench::comm
