// SPDX-License-Identifier: Apache-2.0
// /map.
#include <algorithm>
#include <utility>

#include "simile/serve/detail/route_row.h"

namespace simile::detail {
namespace {

constexpr int64_t kMapHits = 10;

struct MapRequest {
  std::string query;
  std::optional<std::string> mode;
  std::string prompt_name;
  bool sample = true;
  bool neighbours = false;
  void visit(OptionVisitor& v) {
    v.field("query", query, {"Place this among them, with the ten documents that a search finds"});
    visit_mode(v, mode, "Rank that search by vectors, words or both; default: as the index says");
    v.field("prompt_name", prompt_name,
            {"Which of the model's prompts is put before the query; by default that for queries"});
    v.field(
        "sample", sample,
        {"Give the documents or passages: 20000 at even distances, or all if there are fewer, the "
         "same ones until the index changes. Each has the first 200 characters of its text"});
    v.field(
        "neighbours", neighbours,
        {"Give also the 15 nearest documents of each point, the query and its hits: their places "
         "in the sample and the distances of their vectors, as UMAP and other layouts take them"});
  }
};

// The place of a point in the plane and, if requested, its neighbours among the documents of the
// sample.
struct Place {
  double x = 0, y = 0;
  std::optional<std::vector<int64_t>> near;
  std::optional<std::vector<float>> distances;
  Place() = default;
  Place(const PlanePoint& at, const MapNeighbours& neighbours, bool with_neighbours)
      : x(at.x), y(at.y) {
    if (!with_neighbours) return;
    near.emplace();
    distances.emplace();
    for (const MapNeighbour& neighbour : neighbours) {
      near->push_back(neighbour.place);
      distances->push_back(neighbour.distance);
    }
  }
  void visit(OptionVisitor& v) {
    v.required("x", x);
    v.required("y", y);
    v.field("near", near, {"The nearest documents, by their places in the sample"});
    v.field("distances", distances, {"How far their vectors are"});
  }
};

struct MappedPassage {
  int64_t number = 0, of = 0;
  void visit(OptionVisitor& v) {
    v.required("number", number, "From 0");
    v.required("of", of, "How many the document has");
  }
};

struct SampleReply {
  std::string id, text;
  std::optional<std::string> title;
  Place place;
  std::optional<MappedPassage> passage;
  std::optional<ConfigNode> metadata;
  void visit(OptionVisitor& v) {
    v.required("id", id);
    v.field("title", title, {"Its beginning"});
    v.required("text", text, "Its beginning, with the title before it");
    v.field("passage", passage, {"Where the document is split"});
    v.field("metadata", metadata, {""});
    place.visit(v);
  }
};

struct MappedHit : FoundDocument {
  Place place;
  void visit(OptionVisitor& v) {
    FoundDocument::visit(v);
    place.visit(v);
  }
};

struct MappedQuery {
  Place place;
  std::string mode;
  std::vector<MappedHit> hits;
  void visit(OptionVisitor& v) {
    place.visit(v);
    v.required("mode", mode, "What the search went by");
    v.required("hits", hits, "Best first");
  }
};

struct MapReply {
  int64_t generation = 0, documents = 0;
  std::optional<int64_t> passages;
  std::vector<double> variance;
  std::optional<std::vector<SampleReply>> sample;
  std::optional<MappedQuery> query;
  void visit(OptionVisitor& v) {
    v.required("generation", generation, "Another one after a change");
    v.required("documents", documents, "Documents of the index");
    v.field("passages", passages, {"Passages of the index, if its documents are split"});
    v.required("variance", variance, "Share of each axis");
    v.field("sample", sample, {"Documents, or passages"});
    v.field("query", query, {"Where the query lies"});
  }
};

std::vector<SampleReply> show_sample(const DocumentMap& map, bool with_neighbours) {
  std::vector<SampleReply> sample;
  for (const MappedDocument& document : map.sample) {
    SampleReply shown;
    shown.id = document.id;
    if (!document.title.empty()) shown.title = document.title;
    shown.text = document.text;
    shown.place = {document.at, document.near, with_neighbours};
    if (document.passages > 0) shown.passage = MappedPassage{document.passage, document.passages};
    shown.metadata = show_metadata(document.metadata);
    sample.push_back(std::move(shown));
  }
  return sample;
}

Place place_of(const DocumentMap& map, const float* vector, bool with_neighbours) {
  return {map.plane.place(vector), with_neighbours ? map.nearest(vector) : MapNeighbours(),
          with_neighbours};
}

// The map knows the places of the sample's documents; the others' vectors are computed again.
std::vector<Place> place_hits(const Engine& engine, const RouteCall& call, const DocumentMap& map,
                              const std::vector<FoundDocument>& hits, bool with_neighbours) {
  std::vector<Place> places(hits.size());
  std::vector<size_t> others;
  std::vector<Document> documents;
  for (size_t i = 0; i < hits.size(); ++i) {
    const FoundDocument& hit = hits[i];
    const auto found =
        std::find_if(map.sample.begin(), map.sample.end(), [&](const MappedDocument& document) {
          return document.id == hit.id &&
                 document.passage == (hit.passage ? hit.passage->number : 0) &&
                 document.text == text_beginning(*hit.text, kMappedCharacters);
        });
    if (found != map.sample.end()) {
      places[i] = {found->at, found->near, with_neighbours};
      continue;
    }
    others.push_back(i);
    documents.push_back({hit.id, *hit.text});
  }
  if (documents.empty()) return places;
  const Matrix<float> vectors = embed_documents(engine, call, documents);
  for (size_t i = 0; i < others.size(); ++i) {
    places[others[i]] = place_of(map, vectors.row(static_cast<int64_t>(i)), with_neighbours);
  }
  return places;
}

MappedQuery map_query(const Engine& engine, const RouteCall& call, const DocumentMap& map,
                      const MapRequest& request) {
  SearchRequest search;
  search.query = std::vector<std::string>{request.query};
  const Matrix<float> vector = embed_queries(engine, call, *search.query, request.prompt_name);
  search.set_vectors(vector);
  search.mode = request.mode;
  search.top_k = kMapHits;
  MappedQuery shown;
  shown.place = place_of(map, vector.row(0), request.neighbours);
  SearchReply reply =
      searcher_of(engine, call, true, "/search gives fewer of them (\"top_k\")").search(search);
  shown.mode = reply.mode;
  std::vector<FoundDocument>& hits = reply.results[0].hits;
  std::vector<Place> places = place_hits(engine, call, map, hits, request.neighbours);
  for (size_t i = 0; i < places.size(); ++i) {
    shown.hits.push_back({std::move(hits[i]), std::move(places[i])});
  }
  return shown;
}

MapReply map_index(const Engine& engine, const RouteCall& call, const MapRequest& request) {
  ServedIndex& index = index_of(engine);
  const std::shared_ptr<const DocumentMap> map =
      index.map(call.patience.deadline, request.neighbours);
  MapReply reply;
  reply.generation = map->generation;
  reply.documents = map->documents;
  reply.passages = map->passages;
  reply.variance.assign(map->plane.shares().begin(), map->plane.shares().end());
  if (request.sample) reply.sample = show_sample(*map, request.neighbours);
  if (!request.query.empty()) reply.query = map_query(engine, call, *map, request);
  return reply;
}

}  // namespace

std::vector<Route> map_routes() {
  return {route("map", "POST", "/map",
                "Documents of the index, or its passages where it has some, as points of the plane "
                "in which their vectors vary most, and the share of the variance along its two "
                "axes (with --index)",
                map_index, {Refusal::kModelCannot})};
}

}  // namespace simile::detail
