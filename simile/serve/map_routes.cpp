// SPDX-License-Identifier: Apache-2.0
// /map.
#include <algorithm>
#include <utility>

#include "simile/serve/detail/index_answers.h"

namespace simile::detail {
namespace {

constexpr int64_t kMapHits = 10;

// Where something lies: in the plane, and, where they are asked for, beside which documents of the
// sample.
struct Place {
  PlanePoint at;
  MapNeighbours near;
};

// "near": their places in the sample, and "distances": as many.
void show_neighbours(const MapNeighbours& near, OrderedJson& shown) {
  shown["near"] = OrderedJson::array();
  shown["distances"] = OrderedJson::array();
  for (const MapNeighbour& neighbour : near) {
    shown["near"].push_back(neighbour.place);
    shown["distances"].push_back(neighbour.distance);
  }
}

OrderedJson show_sample(const DocumentMap& map, bool with_neighbours) {
  OrderedJson sample = OrderedJson::array();
  for (const MappedDocument& document : map.sample) {
    OrderedJson shown = {
        {"id", document.id}, {"x", document.at.x}, {"y", document.at.y}, {"text", document.text}};
    if (document.passages > 0) {
      shown["passage"] = {{"number", document.passage}, {"of", document.passages}};
    }
    if (!document.metadata.empty()) shown["metadata"] = OrderedJson::parse(document.metadata);
    if (with_neighbours) show_neighbours(document.near, shown);
    sample.push_back(std::move(shown));
  }
  return sample;
}

Place place_of(const DocumentMap& map, const float* vector, bool with_neighbours) {
  return {map.plane.place(vector), with_neighbours ? map.nearest(vector) : MapNeighbours()};
}

// Of the sample's documents the map knows the places; the others' vectors are computed again.
std::vector<Place> place_hits(const Engine& engine, const RouteCall& call, const DocumentMap& map,
                              const std::vector<SearchHit>& hits, bool with_neighbours) {
  std::vector<Place> places(hits.size());
  std::vector<size_t> others;
  std::vector<Document> documents;
  for (size_t i = 0; i < hits.size(); ++i) {
    const auto found =
        std::find_if(map.sample.begin(), map.sample.end(), [&](const MappedDocument& document) {
          return document.id == hits[i].id &&
                 document.passage == (hits[i].passage ? hits[i].passage->number : 0) &&
                 document.text == text_beginning(hits[i].text, kMappedCharacters);
        });
    if (found != map.sample.end()) {
      places[i] = {found->at, found->near};
      continue;
    }
    others.push_back(i);
    documents.emplace_back();
    documents.back().id = hits[i].id;
    documents.back().text = hits[i].text;
  }
  if (documents.empty()) return places;
  const Matrix<float> vectors = embed_documents(engine, call, documents);
  for (size_t i = 0; i < others.size(); ++i) {
    places[others[i]] = place_of(map, vectors.row(static_cast<int64_t>(i)), with_neighbours);
  }
  return places;
}

OrderedJson show_query(const Engine& engine, const RouteCall& call, const DocumentMap& map,
                       const std::string& query, const std::string& prompt_name,
                       const SearchSettings& settings, bool with_neighbours) {
  SearchQueries queries;
  queries.texts = {query};
  queries.vectors = embed_queries(engine, call, queries.texts, prompt_name);
  const Place place = place_of(map, queries.vectors.row(0), with_neighbours);
  SearchResults results = search_index(engine, call, std::move(queries), kMapHits, settings);
  AnswerSize(engine.limits().answer_bytes, true, "/search gives fewer of them (\"top_k\")")
      .add(results[0]);
  const std::vector<Place> places = place_hits(engine, call, map, results[0], with_neighbours);
  OrderedJson shown = {{"x", place.at.x}, {"y", place.at.y}, {"mode", settings.mode}};
  if (with_neighbours) show_neighbours(place.near, shown);
  shown["hits"] = OrderedJson::array();
  for (size_t i = 0; i < places.size(); ++i) {
    OrderedJson hit = show_hit(results[0][i]);
    hit["x"] = places[i].at.x;
    hit["y"] = places[i].at.y;
    if (with_neighbours) show_neighbours(places[i].near, hit);
    shown["hits"].push_back(std::move(hit));
  }
  return shown;
}

}  // namespace

Reply answer_map(const Engine& engine, const RouteCall& call) {
  ServedIndex& index = index_of(engine);
  const JsonRequest request(call.body, engine.limits());
  const std::string query = request.text_or("query", "");
  const std::string prompt_name = request.text_or("prompt_name", "");
  const SearchSettings settings = read_settings(request, index);
  const bool shows_sample = request.flag("sample").value_or(true);
  const bool with_neighbours = request.flag("neighbours").value_or(false);
  const std::shared_ptr<const DocumentMap> map = index.map(call.patience.deadline);
  OrderedJson shown;
  shown["generation"] = map->generation;
  shown["documents"] = map->documents;
  if (map->passages) shown["passages"] = *map->passages;
  shown["variance"] = map->plane.shares();
  if (shows_sample) shown["sample"] = show_sample(*map, with_neighbours);
  if (!query.empty()) {
    shown["query"] = show_query(engine, call, *map, query, prompt_name, settings, with_neighbours);
  }
  return json_reply(shown);
}

}  // namespace simile::detail
