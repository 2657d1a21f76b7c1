#include "analytic/validation/fact_columns.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace parabench::analytic {
namespace {

template <double Configuration::*member>
constexpr FactColumn number(std::string_view name) {
  return {name, [](const Configuration& c) { return c.*member > 0; },
          [](Configuration& c, std::string_view subject, std::string_view text) {
            c.*member = positive_number(subject, text);
          }};
}

template <double Configuration::*member, std::int64_t most = 1'000'000'000'000>
constexpr FactColumn count(std::string_view name) {
  return {name, [](const Configuration& c) { return c.*member > 0; },
          [](Configuration& c, std::string_view subject, std::string_view text) {
            c.*member = positive_number(subject, text);
            if (c.*member != std::floor(c.*member) || c.*member > static_cast<double>(most))
              throw usage_error(subject, text, "a whole number up to " + std::to_string(most));
          }};
}

template <auto member>
constexpr FactColumn choice(std::string_view name) {
  return {name, [](const Configuration& c) { return (c.*member).has_value(); },
          [](Configuration& c, std::string_view subject, std::string_view text) {
            using Choice = typename std::remove_reference_t<decltype(c.*member)>::value_type;
            c.*member = parse_enum<Choice>(subject, text);
          }};
}

using C = Configuration;
// Closed forms of pipelines add and double them as int.
constexpr std::int64_t most_devices = 1'000'000'000;
constexpr std::array columns = {
    FactColumn{"network", [](const C& c) { return !c.network.empty(); },
               [](C& c, std::string_view, std::string_view text) { c.network = text; }},
    count<&C::devices, most_devices>("devices"),
    count<&C::batch>("batch"),
    count<&C::micro_batch>("micro_batch"),
    count<&C::micro_batches, most_devices>("micro_batches"),
    count<&C::samples>("samples"),
    number<&C::sequential_samples_per_s>("sequential_samples_per_s"),
    number<&C::gradient_bytes>("gradient_bytes"),
    number<&C::fusion_bytes>("fusion_bytes"),
    number<&C::link_bytes_per_s>("link_bytes_per_s"),
    count<&C::layers>("layers"),
    count<&C::hidden>("hidden"),
    count<&C::heads>("heads"),
    count<&C::sequence>("sequence"),
    count<&C::vocabulary>("vocabulary"),
    count<&C::tensor>("tensor"),
    count<&C::pipeline>("pipeline"),
    count<&C::data>("data"),
    count<&C::chunks>("chunks"),
    choice<&C::recompute>("recompute"),
    choice<&C::sequence_parallel>("sequence_parallel"),
    choice<&C::training>("training"),
    choice<&C::sharded>("sharded"),
};

}  // namespace

std::span<const FactColumn> fact_columns() { return columns; }

double positive_number(std::string_view subject, std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0)
    throw usage_error(subject, text, "a number above 0");
  return value;
}

}  // namespace parabench::analytic
