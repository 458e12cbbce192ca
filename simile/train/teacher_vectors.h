// SPDX-License-Identifier: Apache-2.0
// The vectors that frozen models, the teachers, give the texts of a training set.
//
// They are kept in a folder, the run's own or one that runs share, in blocks of some thousand
// texts:
//
//   TEACHER-BLOCK.npy   vectors [n, E] (simile/model/embedding_store.h)
//   TEACHER-BLOCK.keys  the hashes of their n texts, 16 bytes each
//   TEACHERS.map.npy    principal axes [E, E], where vectors are reduced
//
// TEACHER is a fingerprint of the model and of the precisions in which its vectors are computed and
// stored, so that vectors of another teacher are never used, and a text's hash finds its vector in
// any set, order, run or stage. A teacher reads every text once; a run that was stopped loses one
// block at most. Damaged blocks give a warning and are computed again. Several processes may fill
// one folder at once, and then encode some texts twice.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/hash.h"
#include "simile/core/matrix.h"
#include "simile/model/embedding_store.h"

namespace simile {

struct TrainingSet;
struct ObjectiveOptions;

// A frozen model.
struct Teacher {
  std::string name;
  std::string fingerprint;  // of all that its vectors depend on beside the texts
  int64_t dimension = 0;
  bool reads_ids = false;  // texts as the run's token ids; else as they were read
  // Vectors [n, dimension] of these texts of a set.
  std::function<Matrix<float>(const TrainingSet& set, const std::vector<int32_t>& texts,
                              EventSink& events)>
      embed;
};

// The vectors of all texts of a set, by one teacher, or by several side by side and reduced. Const
// methods may run in several threads at once.
class TeacherVectors {
 public:
  int64_t dimension() const { return axes_.defined() ? axes_.size(0) : parts_[0].dimension; }
  // The vectors [n, dimension()] of these texts of the set.
  torch::Tensor read(const std::vector<int32_t>& texts) const;

 private:
  friend class TeacherFolder;
  struct Part {  // one teacher's
    int64_t dimension = 0;
    std::vector<std::shared_ptr<const EmbeddingStore>> blocks;
    std::vector<std::pair<int32_t, int32_t>> places;  // [texts] block, and row in it
  };
  torch::Tensor read_parts(const std::vector<int32_t>& texts) const;  // side by side, [n, ΣE]

  std::vector<Part> parts_;
  torch::Tensor axes_;  // [D, ΣE], or not defined
};

class TeacherFolder {
 public:
  // `options`: teacher_storage and teacher_dimensions of an objective.
  TeacherFolder(std::string folder, const ObjectiveOptions& options, EventSink& events);

  // The vectors of all texts of `set`, encoded where the folder has none. With teacher_dimensions =
  // 0 there is one result for each teacher. Otherwise there is one for all of them. Their vectors
  // are concatenated, with several teachers each divided by its length, so that the cosine of two
  // texts is the mean of the teachers' cosines. They are then turned to the D principal axes (about
  // zero) of a sample of the set, which preserve cosines best. The first run finds the axes. All
  // others that share folder and teachers take the leading ones of them, so that a model can go on
  // learning from other texts, and the numbers of a smaller student are the leading ones of a
  // larger student. Progress: "teacher NAME". Errors (kInput): axes that are damaged, or to be
  // found in fewer than twice as many texts as they have numbers.
  std::vector<TeacherVectors> open(const std::vector<Teacher>& teachers, const TrainingSet& set);

 private:
  using Block = std::pair<std::shared_ptr<const EmbeddingStore>, std::vector<HashKey>>;

  std::string marked(const Teacher& teacher) const;
  const std::vector<Block>& blocks(const Teacher& teacher);
  Block write_block(const Teacher& teacher, const std::vector<HashKey>& keys,
                    const Matrix<float>& vectors);
  TeacherVectors::Part open_part(const Teacher& teacher, const TrainingSet& set);
  torch::Tensor find_axes(const std::vector<Teacher>& teachers, const TeacherVectors& vectors,
                          const TrainingSet& set);

  std::string folder_;
  const ObjectiveOptions& options_;
  EventSink& events_;
  std::map<std::string, std::vector<Block>> blocks_;  // by teacher
};

}  // namespace simile
