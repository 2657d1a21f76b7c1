#include "parallelism/plan/validate.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/plan/plans.h"

namespace parabench {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

int uniform(std::mt19937& random, int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); }

std::vector<Op>* random_lane(Plan& plan, std::mt19937& random, std::size_t least) {
  std::vector<std::vector<Op>*> lanes;
  for (RankProgram& rank : plan.ranks) {
    for (auto& lane : rank.lanes) {
      if (lane.size() >= least) lanes.push_back(&lane);
    }
  }
  return lanes.empty() ? nullptr : lanes[uniform(random, static_cast<int>(lanes.size()))];
}

Op* random_op(Plan& plan, std::mt19937& random, bool (*wanted)(OpKind)) {
  std::vector<Op*> ops;
  for (RankProgram& rank : plan.ranks) {
    for (auto& lane : rank.lanes) {
      for (Op& op : lane) {
        if (wanted(op.kind)) ops.push_back(&op);
      }
    }
  }
  return ops.empty() ? nullptr : ops[uniform(random, static_cast<int>(ops.size()))];
}

/// Makes `plan` wrong; false where the plan offers no place for it.
using Mutation = bool (*)(Plan& plan, std::mt19937& random);

bool swap_actions(Plan& plan, std::mt19937& random) {
  auto& ops = plan.ranks[uniform(random, static_cast<int>(plan.ranks.size()))].lane(Lane::compute);
  const int i = uniform(random, static_cast<int>(ops.size())), j = uniform(random, static_cast<int>(ops.size()));
  const Op &a = ops[std::min(i, j)], &b = ops[std::max(i, j)];
  if (!is_compute(a.kind) || !is_compute(b.kind) || i == j) return false;
  // Neighbours of different micro-batches and kinds: the other order is a valid schedule too.
  const bool same_piece = a.step == b.step && a.micro_batch == b.micro_batch;
  if (std::abs(i - j) == 1 && a.kind != b.kind && !same_piece) return false;
  std::swap(ops[i], ops[j]);
  return true;
}

bool swap_messages(Plan& plan, std::mt19937& random) {
  Op* a = random_op(plan, random, is_receive);
  Op* b = random_op(plan, random, is_receive);
  if (!a || a == b || a->kind != b->kind || a->segment != b->segment) return false;
  std::swap(*a, *b);
  return true;
}

bool drop(Plan& plan, std::mt19937& random) {
  auto* lane = random_lane(plan, random, 1);
  lane->erase(lane->begin() + uniform(random, static_cast<int>(lane->size())));
  return true;
}

bool drop_receive_and_send(Plan& plan, std::mt19937& random) {
  Op* receive = random_op(plan, random, is_receive);
  if (!receive) return false;
  const Op gone = *receive;
  for (RankProgram& rank : plan.ranks) {
    for (auto& lane : rank.lanes) {
      std::erase_if(lane, [&](const Op& op) {
        return (is_send(op.kind) || is_receive(op.kind)) && lane_of(op.kind) == lane_of(gone.kind) &&
               op.micro_batch == gone.micro_batch && op.step == gone.step;
      });
    }
  }
  return true;
}

bool duplicate(Plan& plan, std::mt19937& random) {
  auto* lane = random_lane(plan, random, 1);
  const int i = uniform(random, static_cast<int>(lane->size()));
  const Op copy = (*lane)[i];
  lane->insert(lane->begin() + i + uniform(random, static_cast<int>(lane->size()) - i + 1), copy);
  return true;
}

bool pair_wrongly(Plan& plan, std::mt19937& random) {
  Op* receive = random_op(plan, random, is_receive);
  if (!receive || micro_batches(plan) < 2) return false;
  receive->micro_batch = MicroBatchId((receive->micro_batch.value + 1) % micro_batches(plan));
  return true;
}

bool address_wrongly(Plan& plan, std::mt19937& random) {
  Op* message = random_op(plan, random, [](OpKind kind) { return is_send(kind) || is_receive(kind); });
  if (!message) return false;
  message->peer = Rank((message->peer.value + 1) % static_cast<int>(plan.ranks.size()));
  return true;
}

bool read_wrong_version(Plan& plan, std::mt19937& random) {
  Op* op = random_op(plan, random, is_compute);
  op->version += uniform(random, 2) == 0 ? 1 : -1;
  return true;
}

bool write_wrong_version(Plan& plan, std::mt19937& random) {
  Op* op = random_op(plan, random, [](OpKind kind) { return kind == OpKind::update; });
  op->version += uniform(random, 2) == 0 ? 1 : -1;
  return true;
}

/// Before the last backward, hence before the reduction that waits for it.
bool update_early(Plan& plan, std::mt19937& random) {
  auto& ops = plan.ranks[uniform(random, static_cast<int>(plan.ranks.size()))].lane(Lane::compute);
  const int i = uniform(random, static_cast<int>(ops.size()));
  if (ops[i].kind != OpKind::update) return false;
  const Op early = ops[i];
  int before = i - 1;
  while (ops[before].kind != OpKind::backward || ops[before].segment != early.segment) --before;
  ops.erase(ops.begin() + i);
  ops.insert(ops.begin() + before, early);
  return true;
}

bool count_samples_wrongly(Plan& plan, std::mt19937& random) {
  auto& replica = plan.pieces[uniform(random, plan.replicas)];
  int& piece = replica[uniform(random, static_cast<int>(replica.size()))];
  if (uniform(random, 2) == 0) {
    ++piece;
  } else {
    piece = 0;
  }
  return true;
}

bool too_few_versions(Plan& plan, std::mt19937& random) {
  int& versions = plan.ranks[uniform(random, static_cast<int>(plan.ranks.size()))].weight_versions;
  return --versions > 0;
}

bool too_few_pieces(Plan& plan, std::mt19937&) {
  plan.pieces.back().pop_back();
  return true;
}

const std::vector<std::pair<std::string, Mutation>> mutations = {
    {"swap two actions", swap_actions},
    {"swap two receives", swap_messages},
    {"drop an operation", drop},
    {"drop a receive and its send", drop_receive_and_send},
    {"duplicate an operation", duplicate},
    {"pair wrongly", pair_wrongly},
    {"address wrongly", address_wrongly},
    {"read a wrong version", read_wrong_version},
    {"write a wrong version", write_wrong_version},
    {"update too early", update_early},
    {"count samples wrongly", count_samples_wrongly},
    {"keep too few versions", too_few_versions},
    {"lose a piece", too_few_pieces},
};

TEST(Validate, AcceptsRandomPlansAndCatchesEveryMutation) {
  std::mt19937 random(7);
  for (const auto& [name, mutate] : mutations) {
    int tried = 0;
    for (int round = 0; round < 300; ++round) {
      const Plan good = random_plan(random);
      ASSERT_THAT(validate(good), IsEmpty()) << good.spec.strategy.name;
      Plan bad = good;
      if (!mutate(bad, random) || bad == good) continue;
      ++tried;
      EXPECT_THAT(validate(bad), Not(IsEmpty()))
          << name << " in " << good.spec.strategy.name << " on " << good.ranks.size() << " ranks, round " << round;
    }
    EXPECT_GE(tried, 15) << name;
  }
}

std::vector<std::string> rules(const Plan& plan) {
  std::vector<std::string> result;
  for (const Violation& v : validate(plan)) result.push_back(v.rule);
  return result;
}

TEST(Validate, NamesTheRule) {
  Plan plan = gpipe_of(2, 2, 4);
  std::swap(plan.ranks[0].lane(Lane::compute)[0], plan.ranks[0].lane(Lane::compute)[1]);
  EXPECT_THAT(rules(plan), Contains("first in, first out"));

  plan = gpipe_of(2, 2, 4);
  plan.ranks[1].lane(Lane::p2p_forward).pop_back();
  EXPECT_THAT(rules(plan), Contains("pairing"));

  plan = pipedream_of(3, 6);
  plan.ranks[0].weight_versions = 2;
  EXPECT_THAT(rules(plan), Contains("version"));

  plan = plan_of(case_of("data-parallel", 2, 4), 3);
  plan.ranks[1].lane(Lane::collectives).clear();
  EXPECT_THAT(rules(plan), Contains("exactly once"));

  plan = plan_of(case_of("sequential", 1, 4), 3);
  plan.ranks[0].lane(Lane::collectives) = {all_reduce(SegmentId(0), 3, 0)};
  EXPECT_THAT(rules(plan), Contains("reduction"));

  plan = gpipe_of(2, 2, 4);
  plan.pieces = {{3, 1}};
  EXPECT_THAT(rules(plan), Contains("samples"));

  plan = gpipe_of(2, 2, 4);
  plan.ranks[0].lane(Lane::compute)[0].segment = SegmentId(1);
  EXPECT_THAT(rules(plan), Contains("placement"));

  plan = gpipe_of(2, 2, 4);
  plan.ranks[0].lane(Lane::compute)[0].step = 1;
  EXPECT_THAT(rules(plan), Contains("fields"));
}

// Every message meets its like, but the middle rank's send waits for a forward that waits for a receive behind that
// send.
TEST(Validate, FindsADeadlockOfWellPairedMessages) {
  Plan plan = gpipe_of(3, 1, 2);
  auto& lane = plan.ranks[1].lane(Lane::p2p_forward);
  std::swap(lane[0], lane[1]);
  const auto found = validate(plan);
  EXPECT_THAT(found, Contains(Field(&Violation::rule, "progress")));
  EXPECT_THAT(found, Contains(Field(&Violation::text, HasSubstr("1SEND_F0 of step 0 on rank 1"))));
}

// A gradient slice is shared by all versions: the next mini-batch must not add to it before the update.
TEST(Validate, FindsGradientsOfTwoMiniBatchesInOneSlice) {
  Plan plan = pipedream_of(2, 3);
  auto& ops = plan.ranks[0].lane(Lane::compute);  // F0 F1 B0 U F2 B1 U B2 U
  std::rotate(ops.begin() + 3, ops.begin() + 4, ops.begin() + 6);
  EXPECT_THAT(rules(plan), Contains("gradient"));
}

TEST(Validate, RequireValidListsViolationsAndTheOrder) {
  EXPECT_NO_THROW(require_valid(gpipe_of(2, 2, 4)));
  Plan plan = gpipe_of(2, 2, 4);
  plan.ranks[1].lane(Lane::compute).erase(plan.ranks[1].lane(Lane::compute).begin());
  try {
    require_valid(plan);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("exactly once: 1F0 of step 0 is missing on rank 1"));
    EXPECT_THAT(error.what(), HasSubstr("p1 F1 B0 B1"));
  }
}

}  // namespace
}  // namespace parabench
