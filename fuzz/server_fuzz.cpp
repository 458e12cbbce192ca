// SPDX-License-Identifier: Apache-2.0
// A call to the server without its sockets: "POST /embed", a line end, and the body. The server has
// an index with passages that takes changes, and training runs. Whatever a call says, it is
// answered, and never by status 500, which is a mistake of ours.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "simile/index/index_builder.h"
#include "simile/index/index_model.h"
#include "simile/serve/service.h"

namespace {

const std::string& index_folder() {
  static const std::string folder =
      std::filesystem::temp_directory_path() / ("simile_server_fuzz_" + std::to_string(getpid()));
  return folder;
}

std::shared_ptr<simile::ServedIndex> make_index(const simile::SentenceEncoder& encoder) {
  std::filesystem::remove_all(index_folder());
  std::atexit([] { std::filesystem::remove_all(index_folder()); });
  simile::IndexedModel model{"0123", "tiny", 32, simile::VectorMetric::kInnerProduct};
  model.passages = {8, 2};
  simile::EncodeOptions options;
  options.role = simile::TextRole::kDocument;
  std::vector<simile::Document> documents = {
      {"long", "the cat sat on the mat and the dog ran under the sun", R"({"kind":"a","n":1})"},
      {"cat", "a cat on a mat", R"({"kind":"b","n":2.5,"new":true})"}};
  simile::PassageSplitter(encoder, model.passages, options).split(documents);
  simile::IndexBuilder builder(index_folder(), model);
  builder.add(documents, encoder.encode(simile::texts_of_vectors(documents), options,
                                        simile::silent_events()));
  builder.commit();
  return std::make_shared<simile::ServedIndex>(
      simile::SearchIndex::open(index_folder(), "0123", "tiny",
                                simile::SearchIndex::Access::kWrite),
      simile::read_search_settings(index_folder()), true);
}

simile::Service& service() {
  static const auto service = [] {
    simile::ServedModel model;
    model.names = {"tiny"};
    model.fingerprint = "0123";
    model.encoder = std::make_shared<const simile::SentenceEncoder>(simile::SentenceEncoder::load(
        SIMILE_SOURCE_DIR "/tests/golden/tiny-bert", simile::silent_events()));
    model.index = make_index(*model.encoder);
    model.runs = std::make_shared<simile::ServedRuns>(SIMILE_SOURCE_DIR "/tests/golden");
    return std::make_unique<simile::Service>(std::move(model), simile::ServeLimits(),
                                             simile::ApiKeys(), simile::silent_events());
  }();
  return *service;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  const size_t space = std::min(bytes.find(' '), end);
  simile::Call call;
  call.method = bytes.substr(0, space);
  call.path = bytes.substr(std::min(space + 1, end), end - std::min(space + 1, end));
  call.content_type = "application/json";
  call.body = bytes.substr(std::min(end + 1, bytes.size()));
  call.deadline = simile::ServeClock::now() + std::chrono::minutes(1);
  const simile::Admission first = service().admit(call);
  if ((first.reply ? *first.reply : service().answer(call)).status == 500) std::abort();
  return 0;
}
