#include "analytic/costs/gpu_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace parabench::analytic {
namespace {

constexpr double tera = 1e12, giga = 1e9;
constexpr double pcie3 = 16 * giga, pcie4 = 32 * giga, pcie5 = 64 * giga;  // x16, one way

// NVIDIA's data sheets: H200 (2023), H100 (2023), A100 (2021), V100 (2020), A10 (2021), T4 (2019). Tensor cores without
// sparsity: half of what the sheets print with it. fp64 without tensor cores, which convolutions do not use; of A10 and
// T4 1/64 and 1/32 of fp32 (architecture white papers). V100 and T4 have no bf16. NVLink one way is half of its total;
// bridges between PCIe boards, which not every machine has, are left out.
constexpr std::array<GpuSheet, 11> sheets{{
    {"H200", {989.5 * tera, 494.5 * tera, 67 * tera, 34 * tera, 4800 * giga, 450 * giga, pcie5}},
    {"H100 PCIe", {756.5 * tera, 378 * tera, 51 * tera, 26 * tera, 2000 * giga, pcie5, pcie5}},
    {"H100 NVL", {835.5 * tera, 417.5 * tera, 60 * tera, 30 * tera, 3900 * giga, pcie5, pcie5}},
    {"H100", {989.5 * tera, 494.5 * tera, 67 * tera, 34 * tera, 3350 * giga, 450 * giga, pcie5}},
    {"A100-SXM4-80GB", {312 * tera, 156 * tera, 19.5 * tera, 9.7 * tera, 2039 * giga, 300 * giga, pcie4}},
    {"A100-SXM4-40GB", {312 * tera, 156 * tera, 19.5 * tera, 9.7 * tera, 1555 * giga, 300 * giga, pcie4}},
    {"A100 80GB PCIe", {312 * tera, 156 * tera, 19.5 * tera, 9.7 * tera, 1935 * giga, pcie4, pcie4}},
    {"A100", {312 * tera, 156 * tera, 19.5 * tera, 9.7 * tera, 1555 * giga, pcie4, pcie4}},
    {"V100-SXM2", {15.7 * tera, 15.7 * tera, 15.7 * tera, 7.8 * tera, 900 * giga, 150 * giga, pcie3}},
    {"A10", {125 * tera, 62.5 * tera, 31.2 * tera, .4875 * tera, 600 * giga, pcie4, pcie4}},
    {"T4", {8.1 * tera, 8.1 * tera, 8.1 * tera, .253 * tera, 320 * giga, pcie3, pcie3}},
}};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Whether `part` stands in `text` as a word: "A10" is no part of "A100" nor of "A10G".
bool has_word(std::string_view text, std::string_view part) {
  const std::size_t at = text.find(part), end = at + part.size();
  if (at == std::string_view::npos) return false;
  return (at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end]));
}

/// The first row whose name the driver's holds.
const GpuSheet* by_name(std::string_view name) {
  const auto found = std::ranges::find_if(sheets, [name](const GpuSheet& sheet) { return has_word(name, sheet.name); });
  return found == sheets.end() ? nullptr : &*found;
}

}  // namespace

const GpuSheet& gpu_sheet(const GpuInfo* gpu) {
  static const GpuSheet& assumed = *by_name("A10");
  if (!gpu) return assumed;
  if (const GpuSheet* known = by_name(gpu->name)) return *known;
  return gpu->capability >= 90 ? *by_name("H100 PCIe") : gpu->capability >= 80 ? assumed : *by_name("T4");
}

std::string gpu_sheet_text(const GpuInfo* gpu) {
  const std::string_view taken = gpu_sheet(gpu).name;
  if (!gpu) return fmt::format("no GPU known: data sheet of {}", taken);
  if (by_name(gpu->name)) return fmt::format("data sheet of {}", taken);
  return fmt::format("no data sheet of {}, capability {}.{}: that of {}", gpu->name, gpu->capability / 10,
                     gpu->capability % 10, taken);
}

double peak_flops(const GpuRates& rates, Precision precision) {
  switch (precision) {
    case Precision::bf16: return rates.bf16_flops;
    case Precision::tf32: return rates.tf32_flops;
    case Precision::fp32: return rates.fp32_flops;
    case Precision::fp64: return rates.fp64_flops;
  }
  return 0;
}

std::int64_t typical_communicator_bytes(CommKind comm, int ranks) {
  if (comm != CommKind::nccl) return 0;
  return typical_nccl_alone_bytes + (ranks > 1 ? typical_nccl_neighbour_bytes : 0);
}

std::int64_t matrix_workspace_bytes(const GpuInfo* gpu) {
  return gpu && gpu->capability >= 90 ? 33'554'432 : 8'519'680;
}

}  // namespace parabench::analytic
