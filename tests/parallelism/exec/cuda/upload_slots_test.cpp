// What an upload's two streams do with its slots, on a fake of CUDA whose streams run when the test says so.
#include "parallelism/exec/cuda/upload_slots.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <thread>
#include <vector>

#include "tests/parallelism/comm/cuda/fake_cuda.h"

namespace parabench::exec {
namespace {

constexpr int slot_count = 2;

class UploadSlotsTest : public testing::Test {
 protected:
  /// Uploads the next value; the compute stream then notes what it finds in the slot.
  void upload(int value) {
    host_.push_back(value);
    const int* from = &host_.back();
    int* to = &memory_[static_cast<std::size_t>(slots_.next())];
    slots_.fill(std::vector{UploadSlots::Copy{to, from, sizeof(int)}});
    compute_->tasks.push_back([this, to] {
      if (!may_read_) return false;
      read_.push_back(*to);
      return true;
    });
    slots_.taken();
  }

  comm::Stream copy_ = comm::make_stream(), compute_ = comm::make_stream();
  UploadSlots slots_{slot_count, copy_.get(), compute_.get()};
  std::array<int, slot_count> memory_{-1, -1};
  std::deque<int> host_;  // stays where it is
  std::vector<int> read_;
  bool may_read_ = true;
};

TEST_F(UploadSlotsTest, EveryPieceIsReadWholeWhicheverStreamIsAhead) {
  std::mt19937 random(3);
  std::vector<int> expected;
  for (int piece = 0; piece < 200; ++piece) {
    upload(piece);
    expected.push_back(piece);
    for (int looks = static_cast<int>(random() % 6); looks > 0; --looks) (random() % 2 ? copy_ : compute_)->look();
  }
  cudaStreamSynchronize(compute_.get());
  EXPECT_EQ(read_, expected);
}

TEST_F(UploadSlotsTest, NoSlotIsOverwrittenBeforeItIsRead) {
  may_read_ = false;
  for (int piece = 0; piece < 2 * slot_count; ++piece) upload(piece);
  for (int looks = 0; looks < 20; ++looks) {
    copy_->look();
    compute_->look();
  }
  EXPECT_EQ(memory_, (std::array{0, 1})) << "the copies of 2 and 3 wait";
  may_read_ = true;
  cudaStreamSynchronize(compute_.get());
  EXPECT_EQ(read_, (std::vector{0, 1, 2, 3}));
}

TEST_F(UploadSlotsTest, CopiesRunAheadOfReadsByAllSlots) {
  may_read_ = false;
  for (int piece = 0; piece < slot_count; ++piece) upload(piece);
  cudaStreamSynchronize(copy_.get());  // hangs where a copy waits for more than its own slot
  EXPECT_EQ(memory_, (std::array{0, 1}));
}

TEST_F(UploadSlotsTest, TheHostIsAtMostTwoRoundsAheadOfTheReads) {
  may_read_ = false;
  for (int piece = 0; piece < 2 * slot_count; ++piece) upload(piece);  // none waits
  EXPECT_TRUE(read_.empty());
  may_read_ = true;
  upload(2 * slot_count);
  EXPECT_FALSE(read_.empty()) << "it waited for the copy before it into the slot, and that one for a read";
}

}  // namespace
}  // namespace parabench::exec
