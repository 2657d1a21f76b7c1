// Synthetic text: rows of tokens, and after each the token to be predicted.
#pragma once

#include <memory>

#include "datasets/source.h"

namespace parabench::datasets {

/// A sample is `length` tokens of a longer row, its labels are the same row one token further: label i is token i + 1.
/// Tokens are uniform over the vocabulary, keyed by (seed, split, index).
std::unique_ptr<SampleSource> open_synthetic_tokens(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench::datasets
