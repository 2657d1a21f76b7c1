#include "parallelism/comm/algorithms/message_collective.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "parallelism/comm/reduce.h"

namespace parabench::comm {
namespace {

/// Bytes that one call of advance() adds or stores at most, so that the other lanes of the thread get their turn.
constexpr std::int64_t bytes_per_turn = 4 << 20;

using Kind = Transfer::Kind;

class MessageCollective final : public WorkState {
 public:
  MessageCollective(MemberMessages& messages, MessageQueue& queue, Transfers transfers, BufferView buffer,
                    Pieces pieces)
      : messages_(messages),
        queue_(queue),
        transfers_(std::move(transfers)),
        buffer_(buffer),
        pieces_(pieces),
        turn_(queue.started++) {
    std::map<std::tuple<int, int, bool>, std::size_t> flows;
    for (int t = 0; t < std::ssize(transfers_); ++t) {
      const Transfer& transfer = transfers_[t];
      const std::tuple key(transfer.peer, transfer.lane, transfer.kind == Kind::send);
      const auto [flow, fresh] = flows.try_emplace(key, flows_.size());
      if (fresh) flows_.emplace_back();
      flows_[flow->second].transfers.push_back(t);
      done_.push_back(transfer.part.begin);
      before_.push_back(earlier_users(t));
    }
    for (Flow& flow : flows_) flow.next = transfers_[flow.transfers.front()].part.begin;
  }

  bool advance() override {
    if (queue_.completed != turn_) return false;
    std::int64_t moved = 0;
    for (bool again = true; again;) {
      if (moved > bytes_per_turn) {
        messages_.come_again();
        return false;
      }
      again = false;
      for (Flow& flow : flows_) {
        while (start_piece(flow)) continue;
      }
      for (Flow& flow : flows_) {
        for (std::int64_t bytes; (bytes = finish_piece(flow)) > 0; moved += bytes) again = true;
      }
    }
    if (!std::ranges::all_of(flows_, [&](const Flow& flow) { return is_through(flow); })) return false;
    if (++queue_.completed != queue_.started) messages_.come_again();
    return true;
  }

 private:
  struct Piece {
    int transfer;
    Share part;
    std::unique_ptr<std::byte[]> arrived;  // of what is to be added
    Work work;                             // given up before the memory that it receives into
  };

  /// The pieces from or to one member on one lane, in order.
  struct Flow {
    std::vector<int> transfers;
    std::size_t current = 0;  // of `transfers`, the one whose pieces are started
    std::int64_t next = 0;    // where its next piece begins
    std::deque<Piece> pieces;
  };

  bool is_through(const Flow& flow) const { return flow.current == flow.transfers.size() && flow.pieces.empty(); }

  /// Transfers before this one that read or write bytes which it writes, or write some that it reads.
  std::vector<int> earlier_users(int t) const {
    const Transfer& own = transfers_[t];
    std::vector<int> users;
    for (int e = 0; e < t; ++e) {
      const Transfer& other = transfers_[e];
      const bool apart = other.part.end <= own.part.begin || own.part.end <= other.part.begin;
      if (!apart && !(own.kind == Kind::send && other.kind == Kind::send)) users.push_back(e);
    }
    return users;
  }

  /// Whether these bytes are as the transfers before this one leave them.
  bool is_ready(int t, Share part) const {
    return std::ranges::all_of(before_[t], [&](int e) {
      const Share other = transfers_[e].part;
      return other.begin >= part.end || done_[e] >= std::min(part.end, other.end);
    });
  }

  std::byte* at(std::int64_t offset) const { return static_cast<std::byte*>(buffer_.data) + offset; }

  bool start_piece(Flow& flow) {
    if (flow.current == flow.transfers.size() || std::ssize(flow.pieces) == pieces_.on_their_way) return false;
    const int t = flow.transfers[flow.current];
    const Transfer& transfer = transfers_[t];
    const Share part{flow.next, std::min(transfer.part.end, flow.next + pieces_.bytes)};
    if (transfer.kind != Kind::add && !is_ready(t, part)) return false;
    Piece piece{t, part, transfer.kind == Kind::add ? take_spare() : nullptr, {}};
    const BufferView view{piece.arrived ? piece.arrived.get() : at(part.begin), part.bytes(), buffer_.type};
    piece.work = transfer.kind == Kind::send ? messages_.send(transfer.peer, transfer.lane, view)
                                             : messages_.receive(transfer.peer, transfer.lane, view);
    flow.pieces.push_back(std::move(piece));
    flow.next = part.end;
    if (flow.next == transfer.part.end && ++flow.current < flow.transfers.size()) {
      flow.next = transfers_[flow.transfers[flow.current]].part.begin;
    }
    return true;
  }

  /// Bytes of the piece, 0 where it is still on its way or has to wait to be added.
  std::int64_t finish_piece(Flow& flow) {
    if (flow.pieces.empty()) return 0;
    Piece& piece = flow.pieces.front();
    if (!piece.work.test()) return 0;
    if (piece.arrived) {
      if (!is_ready(piece.transfer, piece.part)) return 0;
      const std::array addends = {at(piece.part.begin), piece.arrived.get()};
      sum_into(addends[0], addends, {0, piece.part.bytes()}, buffer_.type);
      queue_.spare.push_back(std::move(piece.arrived));
    }
    const std::int64_t bytes = piece.part.bytes();
    done_[piece.transfer] = piece.part.end;
    flow.pieces.pop_front();
    return bytes;
  }

  std::unique_ptr<std::byte[]> take_spare() {
    if (queue_.spare.empty()) return std::make_unique_for_overwrite<std::byte[]>(pieces_.bytes);
    std::unique_ptr<std::byte[]> spare = std::move(queue_.spare.back());
    queue_.spare.pop_back();
    return spare;
  }

  MemberMessages& messages_;
  MessageQueue& queue_;
  Transfers transfers_;
  BufferView buffer_;
  Pieces pieces_;
  std::uint64_t turn_;
  std::deque<Flow> flows_;
  std::vector<std::int64_t> done_;        // by transfer: its part is done up to here
  std::vector<std::vector<int>> before_;  // by transfer, see earlier_users()
};

}  // namespace

std::unique_ptr<WorkState> start_transfers(MemberMessages& messages, MessageQueue& queue, Transfers transfers,
                                           BufferView buffer, Pieces pieces) {
  return std::make_unique<MessageCollective>(messages, queue, std::move(transfers), buffer, pieces);
}

}  // namespace parabench::comm
