// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "bench/benchmarks.h"
#include "bench/encoder_check.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"

namespace simile::bench {

nlohmann::json measure_texts(const BenchOptions& options, const std::string& text_file) {
  std::vector<std::string> texts;
  std::istringstream lines(read_file(text_file));
  for (std::string line; std::getline(lines, line);) texts.push_back(line);
  SIMILE_CHECK(!texts.empty(), ErrorKind::kInput, text_file + ": expected lines of text");

  double start = now_seconds();
  const SentenceEncoder encoder =
      SentenceEncoder::load(options.model_folder, silent_events(), options.products);
  const double load_seconds = now_seconds() - start;
  start = now_seconds();
  const Workload sequences = encoder.tokenizer().encode_ids_batch(texts);
  const double token_seconds = now_seconds() - start;
  const Workload few(sequences.begin(), sequences.begin() + std::min<int64_t>(8, sequences.size()));
  const double difference = check_vectors(encoder, options.model_folder, options.products, few);
  start = now_seconds();
  encoder.encode_ids(sequences, {}, silent_events());
  return {{"texts", texts.size()},
          {"load_seconds", load_seconds},
          {"token_seconds", token_seconds},
          {"seconds", now_seconds() - start},
          {"difference_from_oracle", difference}};
}

}  // namespace simile::bench
