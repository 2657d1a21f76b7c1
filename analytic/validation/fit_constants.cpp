#include "analytic/validation/fit_constants.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace parabench::analytic {
namespace {

constexpr double scale = 0.1;
// What a factor e between a constant and its start costs: too little to be seen in a constant that any row knows.
constexpr double pull = 1e-6;
constexpr int most_rounds = 300;

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

struct Problem {
  Vector start;  ///< logarithms
  const std::function<Vector(std::span<const double>)>& log_ratios;

  Vector residuals(const Vector& x) const {
    Vector constants(x.size());
    std::ranges::transform(x, constants.begin(), [](double value) { return std::exp(value); });
    return log_ratios(constants);
  }

  double cost(const Vector& x, const Vector& residuals_of_x) const {
    double sum = 0;
    for (const double r : residuals_of_x) sum += 2 * scale * scale * (std::hypot(1, r / scale) - 1);
    for (std::size_t k = 0; k < x.size(); ++k) sum += pull * (x[k] - start[k]) * (x[k] - start[k]);
    return sum;
  }

  /// Of each constant: what each residual gains by it.
  Matrix slopes(const Vector& x) const {
    constexpr double step = 1e-5;
    Matrix slopes;
    for (std::size_t k = 0; k < x.size(); ++k) {
      Vector beside = x;
      beside[k] = x[k] + step;
      Vector gain = residuals(beside);
      beside[k] = x[k] - step;
      const Vector below = residuals(beside);
      for (std::size_t i = 0; i < gain.size(); ++i) gain[i] = (gain[i] - below[i]) / (2 * step);
      slopes.push_back(std::move(gain));
    }
    return slopes;
  }
};

/// x of a x = b, a symmetric and positive definite, by Cholesky's factors.
Vector solve(Matrix a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < k; ++j) a[k][k] -= a[k][j] * a[k][j];
    a[k][k] = std::sqrt(a[k][k]);
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = 0; j < k; ++j) a[i][k] -= a[i][j] * a[k][j];
      a[i][k] /= a[k][k];
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < k; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[j][k] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

/// The quadratic model of the cost around x: half its gradient, and half its curvature without second derivatives of
/// the residuals.
struct Quadratic {
  Vector gradient;
  Matrix curvature;
};

Quadratic quadratic_at(const Problem& problem, const Vector& x, const Vector& residuals) {
  const Matrix slopes = problem.slopes(x);
  const std::size_t n = x.size();
  Quadratic q{Vector(n), Matrix(n, Vector(n))};
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double weight = 1 / std::hypot(1, residuals[i] / scale);
    for (std::size_t k = 0; k < n; ++k) {
      if (slopes[k][i] == 0) continue;
      q.gradient[k] += weight * slopes[k][i] * residuals[i];
      for (std::size_t l = 0; l <= k; ++l) q.curvature[k][l] += weight * slopes[k][i] * slopes[l][i];
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    q.gradient[k] += pull * (x[k] - problem.start[k]);
    q.curvature[k][k] += pull;
  }
  return q;
}

}  // namespace

Vector fit_constants(std::span<const double> start, const std::function<Vector(std::span<const double>)>& log_ratios) {
  Vector x(start.size());
  std::ranges::transform(start, x.begin(), [](double value) { return std::log(value); });
  const Problem problem{x, log_ratios};
  Vector residuals = problem.residuals(x);
  double cost = problem.cost(x, residuals), damping = 1e-2;
  for (int round = 0; round < most_rounds && damping < 1e10; ++round) {
    const Quadratic q = quadratic_at(problem, x, residuals);
    for (bool better = false; !better && damping < 1e10;) {
      Matrix damped = q.curvature;
      for (std::size_t k = 0; k < x.size(); ++k) damped[k][k] *= 1 + damping;
      const Vector step = solve(std::move(damped), q.gradient);
      Vector next = x;
      for (std::size_t k = 0; k < x.size(); ++k) next[k] -= std::clamp(step[k], -1.0, 1.0);
      const Vector there = problem.residuals(next);
      const double cost_there = problem.cost(next, there);
      better = cost_there < cost;
      if (!better) {
        damping *= 4;
        continue;
      }
      if (cost - cost_there < 1e-12 * cost) round = most_rounds;
      damping = std::max(damping / 4, 1e-9);
      x = next;
      residuals = there;
      cost = cost_there;
    }
  }
  std::ranges::transform(x, x.begin(), [](double value) { return std::exp(value); });
  return x;
}

}  // namespace parabench::analytic
