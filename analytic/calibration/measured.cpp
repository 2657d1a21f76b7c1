#include "analytic/calibration/measured.h"

namespace parabench::analytic {

bool tells(const LayerTiming& timing, Measured what) {
  switch (what) {
    case Measured::pass: return true;
    case Measured::halves: return timing.split.has_value();
    case Measured::halves_bytes: return timing.split && timing.split->input_peak_bytes;
    case Measured::adding: return timing.adding_peak_bytes.has_value();
    case Measured::adding_weights: return timing.split && timing.split->adding_weight_peak_bytes;
  }
  return false;
}

}  // namespace parabench::analytic
