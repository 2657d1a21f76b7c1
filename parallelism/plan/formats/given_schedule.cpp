#include "parallelism/plan/formats/given_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "parallelism/plan/formats/csv_cells.h"

namespace parabench::plan {
namespace {

/// Where an action is in the file.
struct Place {
  Rank rank;
  int index = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rows_(parse_cells(text)) {}

  GivenSchedule read() {
    find_places();
    check_passes();
    check_messages();
    check_progress();
    return result();
  }

 private:
  using Key = std::tuple<OpKind, Payload, StageId, MicroBatchId>;
  static Key key(const CsvAction& action) { return {action.kind, action.payload, action.stage, action.micro_batch}; }

  std::optional<Place> find(OpKind kind, StageId stage, MicroBatchId micro_batch) const {
    const auto found = places_.find({kind, Payload::none, stage, micro_batch});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The B, else the I.
  std::optional<Place> input_gradient(StageId stage, MicroBatchId micro_batch) const {
    const auto whole = find(OpKind::backward, stage, micro_batch);
    return whole ? whole : find(OpKind::backward_input, stage, micro_batch);
  }
  template <class Visit>
  void for_each_action(Visit visit) const {
    for (int r = 0; r < std::ssize(rows_); ++r) {
      for (int i = 0; i < std::ssize(rows_[r]); ++i) visit(rows_[r][i], Place{Rank(r), i});
    }
  }

  void find_places() {
    for_each_action([&](const CsvAction& action, Place place) {
      if (!places_.insert({key(action), place}).second) {
        throw schedule_error(place.rank, to_text(action), "repeated", "every action once");
      }
      if (!is_pass(action.kind)) return;
      const Rank owner = owner_.try_emplace(action.stage, place.rank).first->second;
      if (owner != place.rank) {
        throw schedule_error(
            place.rank, to_text(action), "on a second rank",
            "stage " + std::to_string(action.stage.value) + " on rank " + std::to_string(owner.value) + " alone");
      }
      micro_batches_ = std::max(micro_batches_, action.micro_batch.value + 1);
    });
    if (owner_.empty()) throw usage_error("schedule", "no passes", "forwards and backwards: 0F0, 0B0");
    int expected = 0;
    for (const auto& [stage, rank] : owner_) {
      if (stage != StageId(expected++)) {
        throw usage_error("schedule, stage " + std::to_string(expected - 1), "missing",
                          "all stages from 0 on; rank " + std::to_string(rank.value) + " computes stage " +
                              std::to_string(stage.value));
      }
    }
  }

  int stages() const { return static_cast<int>(owner_.size()); }

  void check_passes() const {
    for (StageId stage; stage.value < stages(); ++stage) {
      for (MicroBatchId m; m.value < micro_batches_; ++m) {
        const auto forward = require(OpKind::forward, stage, m);
        const bool split = find(OpKind::backward_input, stage, m) || find(OpKind::backward_weight, stage, m);
        if (!split) {
          require_order(forward, require(OpKind::backward, stage, m));
          continue;
        }
        if (const auto whole = find(OpKind::backward, stage, m)) {
          throw schedule_error(whole->rank, text(*whole), "repeated", "either B or I and W of a stage and micro-batch");
        }
        const auto input = require(OpKind::backward_input, stage, m);
        require_order(forward, input);
        require_order(input, require(OpKind::backward_weight, stage, m));
      }
    }
  }

  Place require(OpKind kind, StageId stage, MicroBatchId m) const {
    if (const auto place = find(kind, stage, m)) return *place;
    throw schedule_error(owner_.at(stage), to_text(CsvAction{kind, Payload::none, stage, m}), "missing",
                         "a forward and a backward of every micro-batch, 0 to " + std::to_string(micro_batches_ - 1) +
                             ", on every stage");
  }
  void require_order(Place before, Place after) const {
    if (after.index > before.index) return;
    throw schedule_error(after.rank, text(after), "too early", "it after " + text(before));
  }

  /// A message is due wherever neighbouring stages are on different ranks.
  void check_messages() const {
    std::map<Key, std::pair<Rank, Place>> due;  ///< -> rank, and the pass it follows or comes before
    for_each_action([&](const CsvAction& action, Place place) {
      const bool up = action.kind == OpKind::forward;
      const StageId neighbour(action.stage.value + (up ? 1 : -1));
      const auto other = owner_.find(neighbour);
      if ((!up && !makes_input_gradient(action.kind)) || other == owner_.end() || other->second == place.rank) return;
      const auto consumer =
          up ? find(OpKind::forward, neighbour, action.micro_batch) : input_gradient(neighbour, action.micro_batch);
      const Payload payload = up ? Payload::activation : Payload::activation_gradient;
      due[{OpKind::send, payload, action.stage, action.micro_batch}] = {place.rank, place};
      due[{OpKind::receive, payload, neighbour, action.micro_batch}] = {other->second, *consumer};
    });
    bool any = false;
    for_each_action([&](const CsvAction& action, Place place) {
      if (is_pass(action.kind)) return;
      any = true;
      check_message(action, place, due);
    });
    if (!any) return;
    for (const auto& [message, where] : due) {
      if (places_.contains(message)) continue;
      const auto [kind, payload, stage, m] = message;
      throw schedule_error(where.first, to_text(CsvAction{kind, payload, stage, m}), "missing",
                           "every message at both ends, or no messages in the whole file",
                           "0SEND_F2 on the rank of stage 0 goes with 1RECV_F2 on that of stage 1");
    }
  }

  void check_message(const CsvAction& action, Place place, const std::map<Key, std::pair<Rank, Place>>& due) const {
    if (action.stage.value >= stages()) {
      throw schedule_error(place.rank, to_text(action), "unknown stage",
                           "stages 0 to " + std::to_string(stages() - 1) + ", those that the file computes");
    }
    const auto found = due.find(key(action));
    if (found == due.end() || found->second.first != place.rank) {
      throw schedule_error(place.rank, to_text(action), "in vain",
                           "messages of the rank's own stages with neighbouring stages on other ranks");
    }
    const Place pass = found->second.second;
    if ((action.kind == OpKind::send) == (place.index > pass.index)) return;
    throw schedule_error(place.rank, to_text(action), (action.kind == OpKind::send) ? "too early" : "too late",
                         ((action.kind == OpKind::send) ? "it after " : "it before ") + text(pass));
  }

  /// Each rank computes as far as it gets; who is left waits in a circle.
  void check_progress() const {
    std::vector<int> done(rows_.size(), 0);
    const auto has_run = [&](std::optional<Place> place) { return !place || place->index < done[place->rank.value]; };
    const auto awaited = [&](const CsvAction& action) {
      const auto neighbour = [&](int by) { return StageId(action.stage.value + by); };
      if (action.kind == OpKind::forward) return find(OpKind::forward, neighbour(-1), action.micro_batch);
      if (makes_input_gradient(action.kind)) return input_gradient(neighbour(1), action.micro_batch);
      return std::optional<Place>();
    };
    // Each action is looked at when its rank comes to it, and once more when what it waits for has run.
    std::map<std::pair<int, int>, std::vector<int>> waiting;  ///< for rank and index: ranks
    std::vector<int> ready(rows_.size());
    std::iota(ready.begin(), ready.end(), 0);
    while (!ready.empty()) {
      const int r = ready.back();
      ready.pop_back();
      for (; done[r] < std::ssize(rows_[r]); ++done[r]) {
        if (const auto needs = awaited(rows_[r][done[r]]); !has_run(needs)) {
          waiting[{needs->rank.value, needs->index}].push_back(r);
          break;
        }
        if (const auto woken = waiting.extract({r, done[r]}))
          ready.insert(ready.end(), woken.mapped().begin(), woken.mapped().end());
      }
    }
    for (int r = 0; r < std::ssize(rows_); ++r) {
      if (done[r] == std::ssize(rows_[r])) continue;
      const CsvAction& head = rows_[r][done[r]];
      const Place needs = *awaited(head);
      throw schedule_error(Rank(r), to_text(head), "waits for ever",
                           "an order without a cycle: it needs " + text(needs) + ", which comes behind " +
                               to_text(rows_[needs.rank.value][done[needs.rank.value]]) + " on rank " +
                               std::to_string(needs.rank.value));
    }
  }

  std::string text(Place place) const { return to_text(rows_[place.rank.value][place.index]); }

  GivenSchedule result() const {
    GivenSchedule schedule{.stages = stages(), .micro_batches = micro_batches_, .ranks = {}, .sha = {}};
    schedule.ranks.resize(rows_.size());
    std::string canonical;
    std::map<std::pair<OpKind, StageId>, MicroBatchId> last;
    for_each_action([&](const CsvAction& action, Place place) {
      if (!is_pass(action.kind)) return;
      schedule.ranks[place.rank.value].push_back({action.kind, action.stage, action.micro_batch, action.overlaps_next});
      MicroBatchId& before = last.try_emplace({action.kind, action.stage}, MicroBatchId(-1)).first->second;
      schedule.in_order = schedule.in_order && action.micro_batch > before;
      before = action.micro_batch;
      canonical += std::to_string(place.rank.value) + ':' + to_text(action) + (action.overlaps_next ? "|" : ",");
    });
    schedule.sha = hex16(fnv1a64(canonical));
    return schedule;
  }

  std::vector<std::vector<CsvAction>> rows_;
  std::map<Key, Place> places_;
  std::map<StageId, Rank> owner_;
  int micro_batches_ = 0;
};

}  // namespace

GivenSchedule read_csv(std::string_view text) { return Reader(text).read(); }

}  // namespace parabench::plan
