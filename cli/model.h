// SPDX-License-Identifier: Apache-2.0
// The model a command was asked to use.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/scorer.h"
#include "simile/index/index_model.h"
#include "simile/index/score_fusion.h"

namespace simile::cli {

// The values of --model, for --help.
inline constexpr const char* kModelHelp =
    "Model folder, or the name of a built-in model (simile-mini-3)";

inline constexpr const char* kIndexHelp = "Index folder";
inline constexpr const char* kIndexModelHelp =
    "Model folder or name of a built-in model; the one the index names by default";

inline constexpr const char* kOutputFolderHelp = "Folder to write, or a model folder to replace";

// A command's options of its model.
struct ModelOptions : EncodeOptions {
  std::string precision = "fp32";  // kernel/matrix_product.h; empty: that of the index at hand
  std::string device = "cpu";      // what computes the encoder

  void visit(OptionVisitor& v);
  void visit_arithmetic(OptionVisitor& v);  // in what numbers the encoder computes, and where
};

// Options with the precision of the current index.
ModelOptions index_model_options();

// Loads a model onto a device other than the CPU (simile/train/device_model.h). Set once by the
// program that has libtorch.
using LoadOnDevice = SentenceEncoder (*)(const std::string& model, const std::string& device,
                                         const std::string& precision, EventSink& events);
void set_device_loader(LoadOnDevice load);

// A model folder or the name of a built-in model, with the precision and on the device of the
// options. Errors: see open_model_folder() and kernel/matrix_product.h; kUsage for a device in a
// program without libtorch.
SentenceEncoder load_encoder(const std::string& model, EventSink& events,
                             const ModelOptions& options = {});

// Loads models of any precision on the device of the options.
LoadEncoder loader_for(const ModelOptions& options);

// The same for the model of an index.
IndexModelOptions for_index(const std::string& model, const ModelOptions& options);

// Errors (ErrorKind::kUsage): an option that differs from its default although none of the models
// (names as make_set_scorer() takes them) is an encoder; only encoders use these options.
void check_model_options(const std::vector<std::string>& models, const ModelOptions& options);

// A model folder, the name of a built-in model, a lexical baseline (bm25, tfidf), or words:MODEL
// for the mean of that model's word embeddings.
// `language`: that of the lexical ones, see split_words().
std::unique_ptr<Scorer> make_scorer(const std::string& model, const ModelOptions& options,
                                    Terminal& terminal, const std::string& language = "none");

// The scorer of whole sets. hybrid:MODEL combines `vectors`, the scorer of MODEL, with BM25; for
// other names this is `vectors` itself. Options not given in `fusion` come from the model folder
// (read_model_search_settings()).
std::shared_ptr<Scorer> make_set_scorer(const std::string& model,
                                        const std::shared_ptr<Scorer>& vectors,
                                        const GivenOptions<FusionOptions>& fusion,
                                        const std::string& language = "none");

}  // namespace simile::cli
