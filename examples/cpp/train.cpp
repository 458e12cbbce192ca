// SPDX-License-Identifier: Apache-2.0
// train RECIPE FOLDER: trains by a recipe and tells what it brought.
#include <cstdio>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/experiment/repeated_training.h"

namespace {

// Prints the library's messages while it works.
class Printer : public simile::EventSink {
 public:
  void info(const std::string& message) override { std::printf("%s\n", message.c_str()); }
  void warning(const std::string& message) override {
    std::printf("warning: %s\n", message.c_str());
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "train RECIPE FOLDER\n"), 2;
  try {
    Printer printer;
    const simile::ConfigNode recipe = simile::load_recipe(argv[1], {});
    const simile::TrainResult result =
        simile::train_recipe(recipe, argv[2], /*resume=*/false, /*overwrite=*/true, printer);
    for (const simile::Report& report : result.reports) {
      std::printf("%s: %s spearman %.4f\n", report.model.c_str(), report.name.c_str(),
                  report.metric("spearman"));
    }
    std::printf("model: %s\n", result.model_path.c_str());
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return simile::exit_code(error.kind());
  }
}
