// SPDX-License-Identifier: Apache-2.0
// The files of a model folder, or of a model on the hub, by their names: which of them the program
// reads, and an explanation if it can read none.
#pragma once

#include <string>
#include <vector>

namespace simile {

// Names of at most 10,000 files in a folder and up to three levels below it, relative and sorted.
std::vector<std::string> list_model_files(const std::string& folder);

// Names of the files that the program reads, and of those that its user should read.
std::vector<std::string> choose_model_files(const std::vector<std::string>& files);

bool is_weight_file(const std::string& name);  // safetensors or torch's

// Explains why the files of `folder` (empty: on the hub) are not a model that the program reads,
// and what to do: a LoRA adapter, weights for another program, a folder above models: "is an
// adapter ...". Empty for a model in the files' own folder.
std::string explain_no_model(const std::string& folder, const std::vector<std::string>& files);

// The same of files among which weights are expected.
std::string explain_no_weights(const std::vector<std::string>& files);

// Errors (kInput): a file that the program reads in `folder`, or in one right below it, is a
// pointer of Git LFS, a web page or another short text that core/file_kind.h knows.
void refuse_lfs_pointers(const std::string& folder);

}  // namespace simile
