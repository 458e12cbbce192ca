// SPDX-License-Identifier: Apache-2.0
// The XML files of SemEval-2016 and 2017 Task 3, community question answering (Nakov et al., 2016,
// 2017): original questions, each with related questions and their comments.
//
//   subtask A  queries are the related questions, documents their comments; relevance
//              (RELC_RELEVANCE2RELQ) Good 1, PotentiallyUseful 0, Bad 0
//   subtask B  queries are the original questions, documents the related ones; relevance
//              (RELQ_RELEVANCE2ORGQ) PerfectMatch 2, Relevant 1, Irrelevant 0
//
// What has a relevance of at least 1 is what the task's scorer counts as right. Ids are those of
// the file; the text of a question is its subject, a space, and its body, of which white space is
// one space. In subtask A threads marked SubtaskA_Skip_Because_Same_As_RelQuestion_ID are passed
// over, as the task's README asks. Candidates without a label (as in a test's input) stand in the
// corpus without a judgement; `notes` counts both.
#pragma once

#include <string>
#include <vector>

#include "simile/data/ranking_data.h"

namespace simile {

// Of several files as one set. Errors: ErrorKind::kRecipe for another subtask; ErrorKind::kInput,
// with file and line, for XML that is not well-formed, an element without its id, a label that is
// none of the above, an id that has two texts, a candidate judged twice with different labels; and
// for files without any label.
RankingData read_semeval(const std::vector<std::string>& paths, const std::string& subtask);

}  // namespace simile
