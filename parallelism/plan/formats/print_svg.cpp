#include "parallelism/plan/formats/print_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/case_id.h"
#include "base/units_text.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/formats/actions.h"

namespace parabench::plan {
namespace {

// In pixels.
constexpr double row_height = 26, row_gap = 6, left = 44, top = 30, letter = 6.5;
constexpr double narrowest = 640, widest = 4000, shortest_pass = 26;

struct Style {
  OpKind kind;
  std::string_view label, letter;
  std::array<int, 3> color;  ///< red, green, blue
};
/// Kinds differ in colour, in the palette of Okabe and Ito (2008) that colour-blind people tell apart, and by the
/// letter on each bar; the stages of a rank differ in lightness.
constexpr std::array<Style, 12> styles = {{{OpKind::forward, "forward", "F", {86, 180, 233}},
                                           {OpKind::backward, "backward", "B", {230, 159, 0}},
                                           {OpKind::backward_input, "input gradient", "I", {213, 94, 0}},
                                           {OpKind::backward_weight, "weight gradient", "W", {0, 158, 115}},
                                           {OpKind::recompute, "recompute", "R", {204, 121, 167}},
                                           {OpKind::norms, "norms", "N", {160, 160, 160}},
                                           {OpKind::update, "update", "U", {240, 228, 66}},
                                           {OpKind::add, "sum of gradients", "S", {120, 94, 240}},
                                           {OpKind::average, "average", "A", {0, 114, 178}},
                                           {OpKind::encode, "encode", "E", {187, 204, 51}},
                                           {OpKind::project, "project", "P", {170, 170, 0}},
                                           {OpKind::decode, "decode", "D", {68, 187, 153}}}};

const Style& style_of(OpKind kind) { return *std::ranges::find(styles, kind, &Style::kind); }

/// The first stage of several is drawn in a colour mixed with white, so that black text is read on all of them.
std::string color(OpKind kind, int chunk, int chunks) {
  const double white = chunks == 1 ? 0 : 0.55 * (chunks - 1 - chunk) / (chunks - 1);
  const auto mixed = [white](int part) { return static_cast<int>(part + (255 - part) * white); };
  const auto& [red, green, blue] = style_of(kind).color;
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(red), mixed(green), mixed(blue));
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string rectangle(double x, double y, double width, double height, std::string_view fill,
                      std::string_view title = {}) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#fff\" "
      "stroke-width=\"0.5\"><title>{}</title></rect>\n",
      x, y, width, height, fill, escaped(title));
}

std::string words(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

struct Bar {
  double start = 0, end = 0;
  OpKind kind = OpKind::forward;
  int chunk = 0;       ///< position of its stage among the rank's
  std::string number;  ///< of the micro-batch; "" of what is no pass
  std::string title;
};

std::vector<Bar> bars_of(const Plan& plan, const Timeline& timeline, Rank rank) {
  const auto& spans = timeline.ranks[rank.value][compute_lane];
  const auto& holds = plan.ranks[rank.value].holds;
  std::vector<Bar> bars;
  for (const Action& action : actions(plan, rank)) {
    const StageId stage = stage_of(plan, action.op.segment);
    Bar bar{
        .start = spans[action.first].start - timeline.origin,
        .end = spans[action.last].end - timeline.origin,
        .kind = action.op.kind,
        .chunk = static_cast<int>(std::ranges::find(holds, stage, &Holding::stage) - holds.begin()),
        .number = is_pass(action.op.kind) ? std::to_string(number(plan, action.op)) : "",
        .title = fmt::format("{}, stage {}, step {}", to_text(plan, rank, action), stage.value, action.op.step.value)};
    if (bar.end > bar.start) bars.push_back(std::move(bar));
  }
  return bars;
}

class Drawing {
 public:
  Drawing(const Plan& plan, const Timeline& timeline) : makespan_(makespan(timeline)) {
    double shortest = makespan_;
    for (int r = 0; r < std::ssize(plan.ranks); ++r) {
      rows_.push_back(bars_of(plan, timeline, Rank(r)));
      chunks_ = std::max(chunks_, static_cast<int>(plan.ranks[r].holds.size()));
      for (const Bar& bar : rows_.back()) {
        if (is_pass(bar.kind)) shortest = std::min(shortest, bar.end - bar.start);
      }
    }
    width_ = std::clamp(shortest > 0 ? shortest_pass * makespan_ / shortest : 0, narrowest, widest);
    title_ = fmt::format("{}   bubble {}", to_id(plan.spec), human_share(bubble_fraction(plan, timeline)));
  }

  std::string text() const {
    const double bottom = top + static_cast<double>(rows_.size()) * (row_height + row_gap);
    const double width = left + width_ + 20, height = bottom + 46;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.2f}\" height=\"{1:.2f}\" viewBox=\"0 0 {0:.2f} "
        "{1:.2f}\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"#fff\"/>\n",
        width, height);
    svg += words(left, 18, "start", title_);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const double y = top + static_cast<double>(r) * (row_height + row_gap);
      svg += words(left - 6, y + row_height / 2 + 4, "end", fmt::format("p{}", r));
      svg += rectangle(left, y, width_, row_height, "#eee", "waiting");
      for (const Bar& bar : rows_[r]) svg += drawn(bar, y);
    }
    return svg + legend(bottom + 16) + "</svg>\n";
  }

 private:
  std::string drawn(const Bar& bar, double y) const {
    const double x = left + bar.start / makespan_ * width_, width = (bar.end - bar.start) / makespan_ * width_;
    std::string svg = rectangle(x, y, width, row_height, color(bar.kind, bar.chunk, chunks_), bar.title);
    const auto fits = [width](const std::string& label) { return width >= letter * static_cast<double>(label.size()); };
    const std::string label = fmt::format("{}{}", style_of(bar.kind).letter, bar.number);
    const std::string& shown = fits(label) ? label : bar.number;
    if (!shown.empty() && fits(shown)) svg += words(x + width / 2, y + row_height / 2 + 4, "middle", shown);
    return svg;
  }

  /// The kinds that are drawn, each in the shades of a rank's stages.
  std::string legend(double y) const {
    std::string svg;
    double x = left;
    for (const Style& style : styles) {
      const bool is_drawn = std::ranges::any_of(rows_, [&](const std::vector<Bar>& row) {
        return std::ranges::find(row, style.kind, &Bar::kind) != row.end();
      });
      if (!is_drawn) continue;
      for (int chunk = 0; chunk < chunks_; ++chunk, x += 14) {
        svg += rectangle(x, y, 14, 14, color(style.kind, chunk, chunks_), style.label);
      }
      const std::string label = fmt::format("{}: {}", style.letter, style.label);
      svg += words(x + 5, y + 11, "start", label);
      x += 20 + letter * static_cast<double>(label.size());
    }
    if (chunks_ > 1) svg += words(x, y + 11, "start", "light to dark: first to last stage of a rank");
    return svg;
  }

  std::vector<std::vector<Bar>> rows_;
  int chunks_ = 1;
  double makespan_, width_ = narrowest;
  std::string title_;
};

}  // namespace

std::string to_svg(const Plan& plan, const Timeline& timeline) { return Drawing(plan, timeline).text(); }

}  // namespace parabench::plan
