// What one rank exchanges with servers, or as one of them with its workers (Plan::servers).
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "parallelism/plan/dependencies/op_places.h"

namespace parabench::plan {

/// Answers what dependencies.h says of pushes of gradients and pulls of weights, and of what overwrites either, once
/// every operation was added, lane by lane, and then finish() called. Of what is not in the plan OpPlaces::missing(),
/// unless said otherwise. The places outlive it.
class ServerIndex {
 public:
  explicit ServerIndex(const OpPlaces& places);
  /// Notes passes, by the weights that they read, additions, and messages with gradients or weights of a run; no other
  /// operation.
  void add(const Op& op, const OpRef& ref);
  void finish();

  /// On a server: what brought the gradients that it adds, of one worker, or of all of them, by rank.
  OpRef pushed(const Op& add) const;
  void all_pushed(const Op& add, std::vector<OpRef>& found) const;
  /// What adds the gradients that a server receives; no_op where nothing does.
  OpRef addition(const Op& receive) const;
  /// Of a segment that a server updates: what sends the version whose place the update's takes.
  void sends_of_overwritten(const Op& update, SegmentId s, std::vector<OpRef>& found) const;

  /// On a worker: the receives of the operation's version from all servers, if any.
  void pulled(const Op& op, SegmentId s, std::vector<OpRef>& found) const;
  /// The last pass that reads a segment's weights in the place of which others come; no_op where none does.
  OpRef last_reader_before(const Op& pull, SegmentId s) const;
  /// What sends the gradients of a segment which lie where a pass makes new ones.
  void pushes_before(const Op& pass, SegmentId s, std::vector<OpRef>& found) const;

 private:
  using Refs = std::vector<OpRef>;
  void note_reader(const Op& pass, int index);
  void note(const Op& message, const OpRef& ref, int number, std::vector<Refs>& table) const;
  /// The version in whose place the operation's comes; -1 where that is none of the window's.
  int overwritten(const Op& op) const;

  const OpPlaces& places_;
  std::map<std::tuple<SegmentId, StepId, Rank>, OpRef> pushed_;  ///< receives of gradients, by run and sender
  std::map<std::tuple<SegmentId, StepId, Rank>, int> adds_;      ///< of these, on the compute lane
  // Empty where there are no servers.
  std::vector<int> last_reader_;     ///< by version: of it or of those before -> compute lane
  std::vector<Refs> last_push_;      ///< by step: of it or of those before
  std::vector<Refs> sent_, pulled_;  ///< by version: by a server, to a worker
};

}  // namespace parabench::plan
