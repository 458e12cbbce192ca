// SPDX-License-Identifier: Apache-2.0
// The native module of the Python package: encoder and index. Requests and replies are JSON, read
// and written by the descriptions of the library's structs, so that Python's keyword arguments are
// the program's options. All work runs without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/index/index_writer.h"
#include "simile/index/searcher.h"
#include "simile/kernel/matrix_product.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/hub.h"
#include "simile/model/model_folder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace simile {
namespace {

using Floats = nb::ndarray<nb::numpy, float, nb::ndim<2>>;
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The sink of the call that runs on this thread; null: none.
thread_local EventSink* call_events = nullptr;

// The events of an index, which keeps its models and their sink from one call to the next: they go
// to the call that runs on this thread.
class CallEvents : public EventSink {
 public:
  void info(const std::string& message) override {
    if (call_events != nullptr) call_events->info(message);
  }
  void warning(const std::string& message) override {
    if (call_events != nullptr) call_events->warning(message);
  }
  void progress(const Progress& progress) override {
    if (call_events != nullptr) call_events->progress(progress);
  }
};
CallEvents events_of_calls;

// Tokens encoded at a time. Ctrl-C is seen between two batches, so they are smaller than the
// library's where few threads make a batch take long. Vectors do not depend on it.
int64_t batch_tokens() {
  return std::clamp<int64_t>(int64_t{1024} * omp_get_max_threads(), 2048,
                             EncodeOptions().batch_tokens);
}

// Hands events to a Python callable: (kind, task or text, done, total, unit). An exception of the
// callable, and Ctrl-C, end the work at its next event.
class PythonEvents : public EventSink {
 public:
  explicit PythonEvents(nb::object callable) : callable_(std::move(callable)) {}
  PythonEvents(const PythonEvents&) = delete;

  void info(const std::string& message) override { tell("info", message, 0, 0, ""); }
  void warning(const std::string& message) override { tell("warning", message, 0, 0, ""); }
  void progress(const Progress& progress) override {
    const auto now = std::chrono::steady_clock::now();
    const bool is_last = progress.done == progress.total;
    if (!is_last && now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    tell("progress", progress.task, progress.done, progress.total, progress.unit);
  }

  // Runs work() without the GIL, as the call of this thread. Throws what the callable has thrown, in
  // place of what that made of the work.
  template <typename Work>
  auto run(const Work& work) {
    struct Call {
      explicit Call(EventSink* events) : before(std::exchange(call_events, events)) {}
      ~Call() { call_events = before; }
      Call(const Call&) = delete;
      EventSink* before;
    };
    const Call call(this);
    try {
      const nb::gil_scoped_release release;
      return work();
    } catch (...) {
      if (thrown_) std::rethrow_exception(thrown_);
      throw;
    }
  }

 private:
  void tell(const char* kind, const std::string& text, int64_t done, int64_t total,
            const std::string& unit) {
    const nb::gil_scoped_acquire acquire;
    if (thrown_) throw Error(ErrorKind::kInterrupted, "stopped");
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!callable_.is_none()) callable_(kind, text, done, total, unit);
    } catch (nb::python_error&) {
      thrown_ = std::current_exception();
      throw Error(ErrorKind::kInterrupted, "stopped");
    }
  }

  nb::object callable_;
  std::exception_ptr thrown_;
  std::chrono::steady_clock::time_point last_;
};

// UTF-8 of a str; a lone surrogate, which has none, is read as U+FFFD.
std::string text_of(nb::handle text, size_t place) {
  if (!PyUnicode_Check(text.ptr())) {
    throw nb::type_error(("text " + std::to_string(place) + ": expected a text (str), found " +
                          nb::cast<std::string>(nb::str(text.type().attr("__name__"))))
                             .c_str());
  }
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
    return {bytes, static_cast<size_t>(size)};
  }
  PyErr_Clear();
  const nb::object utf16 = text.attr("encode")("utf-16-le", "surrogatepass");
  return text_of(utf16.attr("decode")("utf-16-le", "replace"), place);
}

std::vector<std::string> texts_of(const nb::sequence& texts) {
  std::vector<std::string> read;
  read.reserve(nb::len(texts));
  for (const nb::handle text : texts) read.push_back(text_of(text, read.size()));
  return read;
}

// An array over the matrix's own memory, which it then owns.
Floats array_of(Matrix<float> matrix) {
  auto* kept = new Matrix<float>(std::move(matrix));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<Matrix<float>*>(memory); });
  return Floats(kept->values.data(),
                {static_cast<size_t>(kept->rows), static_cast<size_t>(kept->cols)}, owner);
}

template <typename T>
T read(const std::string& json, T value = T()) {
  read_options(parse_json_config(json, "arguments"), value);  // refuses unknown names
  return value;
}

std::string resolve_or_fetch(const std::string& model, EventSink& events) {
  const std::optional<HubName> name = parse_hub_name(model);
  const HubSettings settings = hub_settings();
  if (!name || model.find('/') == std::string::npos || settings.is_offline ||
      find_hub_model(*name, settings)) {
    return resolve_model(model);
  }
  try {
    return resolve_model(model);  // a folder
  } catch (const Error&) {
    return fetch_hub_model(*name, settings, {}, events);
  }
}

struct LoadArguments {
  std::string precision = "fp32";
  void visit(OptionVisitor& v) {
    v.field("precision", precision,
            choice_info("Numbers of the matrix products", {"fp32", "bf16", "int8"}));
  }
};

struct EncodeArguments {
  std::optional<std::string> prompt;
  std::optional<bool> normalize;
  int64_t dimensions = 0;
  void visit(OptionVisitor& v) {
    v.field("prompt", prompt, {"Put before each text"});
    v.field("normalize", normalize, {"Vectors of length 1"});
    v.field("dimensions", dimensions, {"Leading numbers that are kept", "numbers", 0});
  }
};

class PythonEncoder {
 public:
  PythonEncoder(const std::string& model, const std::string& json, nb::object on_event) {
    PythonEvents events(std::move(on_event));
    const auto arguments = read<LoadArguments>(json);
    events.run([&] {
      folder_ = resolve_or_fetch(model, events);
      const ModelFolder files = open_model_folder(folder_, events, ModelUse::kPairs);
      weights_ = open_encoder(files.weights_path, files.settings.encoder, events,
                              choose_precision(arguments.precision));
      encoder_ = std::make_shared<const SentenceEncoder>(weights_, files.settings,
                                                         load_tokenizer(files, events));
    });
    own_max_length_ = max_length();
  }

  // The prompt is in the options; without one it is the model's default, if any.
  Floats encode(const nb::sequence& texts, const std::string& json, nb::object on_event) const {
    const auto arguments = read<EncodeArguments>(json);
    EncodeOptions options;
    options.batch_tokens = batch_tokens();
    options.prompt = arguments.prompt;
    options.normalize = arguments.normalize;
    options.dimensions = arguments.dimensions;
    const std::vector<std::string> read_texts = texts_of(texts);
    const auto encoder = encoder_;  // set_max_length() may replace it meanwhile
    PythonEvents events(std::move(on_event));
    return array_of(
        events.run([&] { return encoder->encode(read_texts, options, events, nullptr); }));
  }

  std::vector<std::vector<int32_t>> tokenize(const nb::sequence& texts) const {
    std::vector<std::vector<int32_t>> ids;
    for (const std::string& text : texts_of(texts)) {
      ids.push_back(encoder_->tokenizer().encode(text).ids);
    }
    return ids;
  }

  // Prompts and how vectors are compared, for SentenceTransformer's properties of these names.
  std::string similarity() const { return encoder_->settings().similarity; }
  std::map<std::string, std::string> prompts() const { return encoder_->settings().prompts; }
  const std::string& folder() const { return folder_; }
  int64_t dimension() const { return encoder_->dimension(); }
  int64_t max_length() const { return encoder_->tokenizer().max_length(); }
  int64_t own_max_length() const { return own_max_length_; }
  void set_max_length(int64_t tokens) {
    if (tokens == max_length()) return;
    ModelSettings settings = encoder_->settings();
    settings.max_length = tokens;
    encoder_ = std::make_shared<const SentenceEncoder>(weights_, settings, encoder_->tokenizer());
  }

 private:
  std::string folder_;
  int64_t own_max_length_ = 0;
  std::shared_ptr<const Encoder> weights_;
  std::shared_ptr<const SentenceEncoder> encoder_;
};

OptionInfo rerank_info() {
  return {"Model that reads query and text together, for searches with \"rerank\""};
}

struct CreateArguments : NewIndexOptions {
  std::string stored = number_name(StoredNumber::kFp32);
  std::string reranker;
  GivenOptions<SearchSettings> settings;
  ApproximateOptions graph;

  CreateArguments() { encode.batch_tokens = batch_tokens(); }
  void visit(OptionVisitor& v) {
    v.field("precision", precision, {"Numbers of the encoder's matrix products"});
    encode.visit(v);
    settings.visit(v);
    passages.visit(v);
    graph.visit(v);
    v.field("vectors", stored,
            choice_info("Numbers of the index's vectors", stored_number_names()));
    v.field("language", language, language_info());
    v.field("metadata", metadata, {"Columns that are kept with each document"});
    v.field("overwrite", overwrite, {"Replace the index in the folder"});
    v.field("rerank_model", reranker, rerank_info());
  }
};

struct OpenArguments : LoadArguments {
  std::string reranker;
  void visit(OptionVisitor& v) {
    LoadArguments::visit(v);
    v.field("rerank_model", reranker, rerank_info());
  }
};

struct GivenDocument {
  std::string id, title, text;
  ConfigNode metadata;
  void visit(OptionVisitor& v) {
    v.field("id", id, OptionInfo{"Its name", "", 1, kLongestId}.required());
    v.field("title", title, {"Stands before the text"});
    v.field("text", text, OptionInfo{"What is searched for", "", 1}.required());
    v.field("metadata", metadata, {"An object of texts, numbers, truth values or lists of these"});
  }
};

struct GivenDocuments {
  std::vector<GivenDocument> documents;
  void visit(OptionVisitor& v) { v.required("documents", documents, "The documents"); }
};

std::vector<Document> documents_of(const std::string& json) {
  std::vector<Document> documents;
  for (const GivenDocument& given : read<GivenDocuments>(json).documents) {
    Document document;
    document.id = given.id;
    document.title = given.title;
    document.text = given.title.empty() ? given.text : given.title + " " + given.text;
    if (given.metadata.kind != ConfigNode::Kind::kNull) {
      document.metadata = config_to_json(given.metadata);
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

// Loads the model of an index, and the one that re-ranks, once for searches and changes.
LoadEncoder load_once() {
  struct Kept {
    std::mutex mutex;
    std::map<std::string, SentenceEncoder> encoders;
  };
  return [kept = std::make_shared<Kept>()](const std::string& model, const std::string& precision,
                                           EventSink& events) {
    const std::lock_guard lock(kept->mutex);
    const std::string name = precision + " " + model;
    const auto found = kept->encoders.find(name);
    if (found != kept->encoders.end()) return found->second;
    return kept->encoders.emplace(name, load_encoder(model, precision, nullptr, events))
        .first->second;
  };
}

// One index, opened anew for searches after a change. A search goes on in the state that it began
// with while another thread makes a change.
class PythonIndex {
 private:
  std::shared_ptr<const Searcher> searcher() {
    const std::lock_guard lock(searching_);
    if (is_new_) {
      throw Error(ErrorKind::kUsage,
                  "the index '" + path_ + "' is new: call commit() before it is searched");
    }
    if (!searcher_) {
      SearcherOptions options;
      static_cast<IndexModelOptions&>(options) = options_;
      options.reranker = reranker_;
      searcher_ = std::make_shared<const Searcher>(Searcher::open(path_, options, events_of_calls));
    }
    return searcher_;
  }

  template <typename Change>
  auto change(const Change& work) {
    const std::lock_guard lock(writing_);
    if (!writer_) {
      writer_ = std::make_unique<IndexWriter>(IndexWriter::open(path_, options_, events_of_calls));
    }
    const auto result = work(*writer_);
    open_anew();
    return result;
  }

  void open_anew() {
    const std::lock_guard lock(searching_);
    searcher_.reset();
  }

  std::string path_, reranker_;
  IndexModelOptions options_;
  std::mutex writing_, searching_;
  std::atomic<bool> is_new_ = false;
  std::unique_ptr<IndexWriter> writer_;
  std::shared_ptr<const Searcher> searcher_;

 public:
  static std::unique_ptr<PythonIndex> create(const std::string& path, const std::string& model,
                                             const std::string& json, nb::object on_event) {
    auto arguments = read<CreateArguments>(json);
    auto index = std::make_unique<PythonIndex>(path);
    PythonEvents events(std::move(on_event));
    events.run([&] {
      arguments.model = resolve_or_fetch(model, events);
      arguments.vectors = parse_stored_number(arguments.stored);
      const SearchSettings of_model = read_model_search_settings(arguments.model);
      arguments.search = arguments.settings.over(of_model);
      arguments.search->approximate = arguments.graph;
      if (!arguments.reranker.empty()) {
        index->reranker_ = resolve_or_fetch(arguments.reranker, events);
      }
      index->options_.precision = arguments.precision;
      arguments.load = index->options_.load;
      index->is_new_ = true;
      index->writer_ =
          std::make_unique<IndexWriter>(IndexWriter::create(path, arguments, events_of_calls));
    });
    return index;
  }

  static std::unique_ptr<PythonIndex> open(const std::string& path, const std::string& json,
                                           nb::object on_event) {
    auto index = std::make_unique<PythonIndex>(path);
    OpenArguments arguments;
    arguments.precision = "";
    arguments = read(json, arguments);
    index->options_.precision = arguments.precision;
    PythonEvents events(std::move(on_event));
    events.run([&] {
      if (!arguments.reranker.empty()) {
        index->reranker_ = resolve_or_fetch(arguments.reranker, events);
      }
      index->searcher();
    });
    return index;
  }

  explicit PythonIndex(std::string path) : path_(std::move(path)) {
    options_.encode.batch_tokens = batch_tokens();
    options_.load = load_once();
  }
  PythonIndex(const PythonIndex&) = delete;

  std::pair<int64_t, int64_t> add(const std::string& json, nb::object on_event) {
    PythonEvents events(std::move(on_event));
    return events.run([&] {
      std::vector<Document> documents = documents_of(json);
      return change([&](IndexWriter& writer) {
        const IndexWriter::Added added = writer.add(std::move(documents));
        return std::pair(added.documents, added.replaced);
      });
    });
  }

  std::pair<int64_t, int64_t> add_file(const std::string& table, nb::object on_event) {
    PythonEvents events(std::move(on_event));
    return events.run([&] {
      return change([&](IndexWriter& writer) {
        const IndexWriter::Added added = writer.add_corpus(table);
        return std::pair(added.documents, added.replaced);
      });
    });
  }

  int64_t remove(const nb::sequence& ids) {
    const std::vector<std::string> read_ids = texts_of(ids);
    const nb::gil_scoped_release release;
    return change([&](IndexWriter& writer) { return writer.index().remove(read_ids); });
  }

  int64_t remove_matching(const std::string& filter, bool dry_run) {
    const nb::gil_scoped_release release;
    return change([&](IndexWriter& writer) {
      return writer.index().remove_matching(parse_filter(filter), dry_run);
    });
  }

  void commit(nb::object on_event) {
    PythonEvents events(std::move(on_event));
    events.run([&] {
      const std::lock_guard lock(writing_);
      if (!is_new_) return;
      writer_->commit();
      writer_.reset();
      is_new_ = false;
    });
  }

  std::string search(const std::string& json, const std::optional<Rows>& vectors,
                     nb::object on_event) {
    auto request = read<SearchRequest>(json);
    if (request.rerank && reranker_.empty()) {
      throw Error(ErrorKind::kUsage,
                  "search: \"rerank\" needs a model that reads query and text together; open the "
                  "index with Index.open(path, rerank_model=FOLDER)");
    }
    if (vectors) {
      Matrix<float> rows(static_cast<int64_t>(vectors->shape(0)),
                         static_cast<int64_t>(vectors->shape(1)));
      std::copy_n(vectors->data(), rows.values.size(), rows.values.begin());
      request.set_vectors(rows);
    }
    PythonEvents events(std::move(on_event));
    return events.run([&] { return options_to_json(searcher()->search(request), 0); });
  }

  std::string list(const std::string& json) {
    const auto request = read<ListRequest>(json);
    const nb::gil_scoped_release release;
    return options_to_json(searcher()->list(request), 0);
  }

  int64_t size() {
    const nb::gil_scoped_release release;
    return searcher()->index().info().count;
  }

  std::string model() {
    const nb::gil_scoped_release release;
    return model_of_index(path_, searcher()->index().info().model, "");
  }
};

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kRecipe:
      return "UsageError";
    case ErrorKind::kInput:
      return "InputError";
    case ErrorKind::kIo:
      return "SystemError";
    default:
      return "Error";
  }
}

}  // namespace
}  // namespace simile

NB_MODULE(_native, m) {
  using namespace simile;
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nb::object type =
          nb::module_::import_("pysimile._errors").attr(class_name(error.kind()));
      PyErr_SetString(type.ptr(), error.what());
    }
  });

  // The threads of OpenMP do not live on in a child of fork(), which would wait for them.
  m.def("rest", [] { omp_pause_resource_all(omp_pause_hard); });
  m.def(
      "set_threads", [](int threads) { omp_set_num_threads(threads); }, "threads"_a);

  nb::class_<PythonEncoder>(m, "Encoder")
      .def(nb::init<const std::string&, const std::string&, nb::object>(), "model"_a, "options"_a,
           "on_event"_a.none())
      .def("encode", &PythonEncoder::encode, "texts"_a, "options"_a, "on_event"_a.none())
      .def("tokenize", &PythonEncoder::tokenize, "texts"_a)
      .def_prop_ro("similarity", &PythonEncoder::similarity)
      .def_prop_ro("prompts", &PythonEncoder::prompts)
      .def_prop_ro("folder", &PythonEncoder::folder)
      .def_prop_rw("max_length", &PythonEncoder::max_length, &PythonEncoder::set_max_length)
      .def_prop_ro("own_max_length", &PythonEncoder::own_max_length)
      .def_prop_ro("dimension", &PythonEncoder::dimension);

  nb::class_<PythonIndex>(m, "Index")
      .def_static("create", &PythonIndex::create, "path"_a, "model"_a, "options"_a,
                  "on_event"_a.none())
      .def_static("open", &PythonIndex::open, "path"_a, "options"_a, "on_event"_a.none())
      .def("add", &PythonIndex::add, "documents"_a, "on_event"_a.none())
      .def("add_file", &PythonIndex::add_file, "table"_a, "on_event"_a.none())
      .def("remove", &PythonIndex::remove, "ids"_a)
      .def("remove_matching", &PythonIndex::remove_matching, "filter"_a, "dry_run"_a)
      .def("commit", &PythonIndex::commit, "on_event"_a.none())
      .def("search", &PythonIndex::search, "request"_a, "vectors"_a.none(), "on_event"_a.none())
      .def("list", &PythonIndex::list, "request"_a)
      .def("size", &PythonIndex::size)
      .def_prop_ro("model", &PythonIndex::model);
}
