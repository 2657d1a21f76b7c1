#include "parallelism/comm/mailbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace parabench::comm {
namespace {

constexpr std::uint64_t line = 64;  // header and payload are padded to it, so that copies stay aligned
static_assert(sizeof(MessageHeader) <= line);

/// Bytes that one call of advance() moves at most, so that the other lanes of the thread get their turn.
constexpr std::uint64_t bytes_per_turn = 1 << 20;

constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + line - 1) / line * line; }

void copy_in(const Mailbox& box, std::uint64_t position, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t begin = position % box.ring_bytes;
  const std::uint64_t first = std::min(bytes, box.ring_bytes - begin);
  std::memcpy(box.ring + begin, from, first);
  std::memcpy(box.ring, from + first, bytes - first);
}

void copy_out(const Mailbox& box, std::uint64_t position, std::byte* to, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t begin = position % box.ring_bytes;
  const std::uint64_t first = std::min(bytes, box.ring_bytes - begin);
  std::memcpy(to, box.ring + begin, first);
  std::memcpy(to + first, box.ring, bytes - first);
}

/// The half that writing and reading share: a message is a stream of a header line and a padded payload, moved
/// in chunks.
class Transfer : public WorkState {
 public:
  Transfer(Fabric& fabric, MailboxEnd& end, BufferView buffer, Rank from, Rank to, Message message)
      : fabric_(fabric), end_(end), buffer_(buffer), from_(from), to_(to), message_(message), turn_(end.started++) {}

  bool advance() override {
    if (end_.completed != turn_) return blocked();
    const std::uint64_t total = line + padded(buffer_.bytes);
    for (std::uint64_t moved_now = 0; moved_ < total;) {
      const std::uint64_t possible = ready_bytes();
      if (possible == 0) return blocked();
      if (moved_now >= bytes_per_turn) return yield();
      const std::uint64_t chunk = std::min({possible, total - moved_, std::max(line, end_.box.ring_bytes / 16)});
      move(chunk);
      moved_ += chunk;
      moved_now += chunk;
    }
    ++end_.completed;
    if (end_.started != end_.completed) fabric_.ring_rank(self());
    return true;
  }

 protected:
  /// Bytes that can be moved without waiting; when none, the peer has been asked to ring.
  virtual std::uint64_t ready_bytes() = 0;
  /// Moves the next bytes of the stream and tells the peer.
  virtual void move(std::uint64_t bytes) = 0;
  virtual Rank self() const = 0;

  /// The part of the payload that the next `bytes` of the stream hold.
  struct Part {
    std::uint64_t position;  // in the ring
    std::byte* data;
    std::uint64_t bytes;
  };
  Part payload(std::uint64_t bytes) const {
    const std::uint64_t skipped = moved_ == 0 ? line : 0;
    const std::uint64_t begin = moved_ + skipped - line;
    const std::uint64_t size = static_cast<std::uint64_t>(buffer_.bytes);
    const std::uint64_t end = std::min(begin + bytes - skipped, size);
    return {end_.position + skipped, static_cast<std::byte*>(buffer_.data) + begin, end - begin};
  }

  Fabric& fabric_;
  MailboxEnd& end_;
  BufferView buffer_;
  Rank from_, to_;
  Message message_;
  std::uint64_t moved_ = 0;  // bytes of the stream

 private:
  bool blocked() const {
    fabric_.throw_if_aborted();
    return false;
  }
  bool yield() const {
    fabric_.ring_rank(self());  // there is more to do: nobody may fall asleep on it
    return false;
  }

  std::uint64_t turn_;
};

class Writing final : public Transfer {
 public:
  using Transfer::Transfer;

 private:
  Rank self() const override { return from_; }

  std::uint64_t ready_bytes() override {
    MailboxControl& control = *end_.box.control;
    const auto room = [&] { return end_.box.ring_bytes - (end_.position - control.freed.load()); };
    if (room() == 0) {
      control.writer_waits.store(1);
      if (room() == 0) return 0;
    }
    control.writer_waits.store(0, std::memory_order_relaxed);
    return room();
  }

  void move(std::uint64_t bytes) override {
    if (moved_ == 0) {
      const MessageHeader header{message_.tag, buffer_.bytes};
      copy_in(end_.box, end_.position, reinterpret_cast<const std::byte*>(&header), sizeof header);
    }
    const Part part = payload(bytes);
    copy_in(end_.box, part.position, part.data, part.bytes);
    end_.position += bytes;
    end_.box.control->written.store(end_.position);
    if (end_.box.control->reader_waits.load() != 0) fabric_.ring_rank(to_);
  }
};

class Reading final : public Transfer {
 public:
  using Transfer::Transfer;

 private:
  Rank self() const override { return to_; }

  std::uint64_t ready_bytes() override {
    MailboxControl& control = *end_.box.control;
    const auto waiting = [&] { return control.written.load() - end_.position; };
    if (waiting() == 0) {
      control.reader_waits.store(1);
      if (waiting() == 0) return 0;
    }
    control.reader_waits.store(0, std::memory_order_relaxed);
    return waiting();
  }

  void move(std::uint64_t bytes) override {
    if (moved_ == 0) {
      MessageHeader header;
      copy_out(end_.box, end_.position, reinterpret_cast<std::byte*>(&header), sizeof header);
      check_pairing(header, {message_.tag, buffer_.bytes}, from_, to_, message_.channel);
    }
    const Part part = payload(bytes);
    copy_out(end_.box, part.position, part.data, part.bytes);
    end_.position += bytes;
    end_.box.control->freed.store(end_.position);
    if (end_.box.control->writer_waits.load() != 0) fabric_.ring_rank(from_);
  }
};

}  // namespace

void check_pairing(MessageHeader sent, MessageHeader expected, Rank from, Rank to, Channel channel) {
  if (sent == expected) return;
  throw std::logic_error(
      fmt::format("message from rank {} to rank {} on channel {}: sent with tag {:#x} and {} bytes, received with tag "
                  "{:#x} and {} bytes",
                  from.value, to.value, name(channel), sent.tag, sent.bytes, expected.tag, expected.bytes));
}

std::unique_ptr<WorkState> start_write(Fabric& fabric, MailboxEnd& end, BufferView buffer, Rank from, Rank to,
                                       Message message) {
  return std::make_unique<Writing>(fabric, end, buffer, from, to, message);
}

std::unique_ptr<WorkState> start_read(Fabric& fabric, MailboxEnd& end, BufferView buffer, Rank from, Rank to,
                                      Message message) {
  return std::make_unique<Reading>(fabric, end, buffer, from, to, message);
}

}  // namespace parabench::comm
