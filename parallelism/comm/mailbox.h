// Messages through the mailboxes of the fabric: any size streams through a ring of bounded memory.
#pragma once

#include <cstdint>
#include <memory>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/fabric.h"

namespace parabench::comm {

/// What travels before every payload.
struct MessageHeader {
  std::uint64_t tag = 0;
  std::int64_t bytes = 0;
  bool operator==(const MessageHeader&) const = default;
};

/// Throws std::logic_error naming both tags and sizes unless they are equal.
void check_pairing(MessageHeader sent, MessageHeader expected, Rank from, Rank to, Channel channel);

/// A rank's own end of one mailbox: where it stands in the stream, and whose turn it is.
struct MailboxEnd {
  Mailbox box;
  std::uint64_t position = 0;   ///< bytes written (or freed) so far
  std::uint64_t started = 0;    ///< messages
  std::uint64_t completed = 0;  ///< messages
};

std::unique_ptr<WorkState> start_write(Fabric& fabric, MailboxEnd& end, BufferView buffer, Rank from, Rank to,
                                       Message message);
std::unique_ptr<WorkState> start_read(Fabric& fabric, MailboxEnd& end, BufferView buffer, Rank from, Rank to,
                                      Message message);

}  // namespace parabench::comm
