// SPDX-License-Identifier: Apache-2.0
#include "simile/data/semeval.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "simile/core/error.h"
#include "simile/data/detail/xml_reader.h"
#include "simile/data/path_list.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

struct Label {
  const char* name;
  int64_t relevance;
};

constexpr Label kCommentLabels[] = {{"Good", 1}, {"PotentiallyUseful", 0}, {"Bad", 0}};
constexpr Label kQuestionLabels[] = {{"PerfectMatch", 2}, {"Relevant", 1}, {"Irrelevant", 0}};

// A question or a comment as it is read.
struct Item {
  std::string id, label, subject, body, where;

  std::string text() const {
    return subject.empty() || body.empty() ? subject + body : subject + " " + body;
  }
};

// Texts with ids, each id once.
class ItemTable {
 public:
  ItemTable(std::vector<std::string>& ids, std::vector<std::string>& texts)
      : ids_(ids), texts_(texts) {}

  int64_t add(const Item& item) {
    const auto [found, is_new] = places_.emplace(item.id, ids_.size());
    if (is_new) {
      ids_.push_back(item.id);
      texts_.push_back(item.text());
    }
    SIMILE_CHECK(
        texts_[found->second] == item.text(), ErrorKind::kInput,
        fmt::format("{}: '{}' stands there a second time with another text", item.where, item.id));
    return static_cast<int64_t>(found->second);
  }

 private:
  std::vector<std::string>& ids_;
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, size_t> places_;
};

class CqaReceiver : public XmlReceiver {
 public:
  CqaReceiver(bool comments, RankingData& data)
      : comments_(comments),
        data_(data),
        queries_(data.query_ids, data.query_texts),
        documents_(data.document_ids, data.document_texts) {}

  int64_t unlabelled = 0, repeated_threads = 0, judgements = 0;

  void begin(const std::string& name, const Attributes& attributes,
             const std::string& where) override {
    if (name == "OrgQuestion") {
      original_ = open(attributes, "ORGQ_ID", "", where);
    } else if (name == "Thread") {
      is_repeated_ = attributes.count("SubtaskA_Skip_Because_Same_As_RelQuestion_ID") > 0;
      repeated_threads += comments_ && is_repeated_ ? 1 : 0;
    } else if (name == "RelQuestion") {
      related_ = open(attributes, "RELQ_ID", "RELQ_RELEVANCE2ORGQ", where);
    } else if (name == "RelComment") {
      comment_ = open(attributes, "RELC_ID", "RELC_RELEVANCE2RELQ", where);
    }
  }

  void end(const std::string& name, const std::string& text) override {
    if (name == "OrgQSubject") original_.subject = trim(text);
    if (name == "OrgQBody") original_.body = trim(text);
    if (name == "RelQSubject") related_.subject = trim(text);
    if (name == "RelQBody") related_.body = trim(text);
    if (name == "RelCText") comment_.body = trim(text);
    if (name == "RelQuestion" && !comments_) judge(original_, "an OrgQuestion", related_);
    if (name == "RelComment" && comments_ && !is_repeated_) {
      judge(related_, "a RelQuestion", comment_);
    }
    if (name == "OrgQuestion") original_ = related_ = Item();
    if (name == "Thread") related_ = Item();
  }

 private:
  static Item open(const Attributes& attributes, const char* id, const char* label,
                   const std::string& where) {
    const auto found = attributes.find(id);
    SIMILE_CHECK(found != attributes.end() && !found->second.empty(), ErrorKind::kInput,
                 fmt::format("{}: expected an element with {}", where, id));
    const auto labelled = attributes.find(label);
    return {found->second, labelled == attributes.end() ? "" : labelled->second, "", "", where};
  }

  void judge(const Item& query, const char* what, const Item& document) {
    SIMILE_CHECK(!query.id.empty(), ErrorKind::kInput,
                 fmt::format("{}: '{}' does not stand in {}", document.where, document.id, what));
    const auto q = static_cast<size_t>(queries_.add(query));
    const int64_t d = documents_.add(document);
    data_.judged.resize(data_.query_ids.size());
    if (document.label.empty() || document.label == "?") {
      ++unlabelled;
      return;
    }
    const int64_t relevance = read_label(document);
    const auto [before, is_new] = relevance_.emplace(query.id + '\t' + document.id, relevance);
    SIMILE_CHECK(before->second == relevance, ErrorKind::kInput,
                 fmt::format("{}: '{}' is judged a second time for '{}' with another label",
                             document.where, document.id, query.id));
    if (!is_new) return;
    data_.judged[q].push_back({d, relevance});
    ++judgements;
  }

  int64_t read_label(const Item& item) const {
    std::string known;
    for (const Label& label : comments_ ? kCommentLabels : kQuestionLabels) {
      if (item.label == label.name) return label.relevance;
      known += (known.empty() ? "" : ", ") + std::string(label.name);
    }
    throw Error(ErrorKind::kInput, fmt::format("{}: expected one of the labels {}, found '{}'",
                                               item.where, known, item.label));
  }

  bool comments_;
  RankingData& data_;
  ItemTable queries_, documents_;
  Item original_, related_, comment_;
  bool is_repeated_ = false;
  std::unordered_map<std::string, int64_t> relevance_;  // query, tab, document
};

}  // namespace

RankingData read_semeval(const std::vector<std::string>& paths, const std::string& subtask) {
  SIMILE_CHECK(subtask == "A" || subtask == "B", ErrorKind::kRecipe,
               fmt::format("subtask: expected A or B, found '{}'", subtask));
  RankingData data;
  CqaReceiver receiver(subtask == "A", data);
  for (const std::string& path : paths) read_xml(path, receiver);
  const std::string file = name_paths(paths);
  SIMILE_CHECK(receiver.judgements > 0, ErrorKind::kInput,
               fmt::format("{}: no {} with a label was found ({} without); expected the XML of "
                           "SemEval Task 3, with the labels of subtask {}",
                           file, subtask == "A" ? "RelComment" : "RelQuestion", receiver.unlabelled,
                           subtask));
  if (receiver.unlabelled > 0) {
    data.notes.push_back(
        fmt::format("{}: {} candidates have no label and no judgement", file, receiver.unlabelled));
  }
  if (receiver.repeated_threads > 0) {
    data.notes.push_back(
        fmt::format("{}: {} threads repeat a related question and were passed over", file,
                    receiver.repeated_threads));
  }
  ReadReport report;
  report.file = file;
  report.rows = receiver.judgements;
  data.reports.push_back(report);
  return data;
}

}  // namespace simile
