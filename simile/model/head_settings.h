// SPDX-License-Identifier: Apache-2.0
// A task head turns pooled embeddings u and v (before Normalize, size H) into k numbers, the
// logits, by n linear layers on features:
//
//   kind     input           features x                 layers n
//   l1       pair            -|u - v|_1 / H       [1]   1
//   cosine   pair            u.v / (|u| |v|)      [1]   1
//   concat   pair            [u; v; |u - v|]      [3H]  1
//   linear   single, joint   u                    [H]   1
//   mlp      pair            [u; v; |u - v|]      [3H]  `layers`
//   mlp      single, joint   u                    [H]   `layers`
//
// With difference = false, x of a pair's concat and mlp is [u; v] [2H].
//
//   logits = W_n relu(... relu(W_1 x + b_1) ...) + b_n,   W_i [out, in]
//
// A single text has the embedding u; a pair has u and v; a joint input is a pair encoded as one
// sequence, [CLS] a [SEP] b [SEP], with the embedding u. In training, dropout applies to the input
// of every layer, the first included; l1 and cosine have none, since they have one feature. With
// dropout_side = first, the input of a pair's first layer has it on u alone.
//
// Weights are one flat array in the order of head_layout(), in inference and training alike. A head
// with `shares` has the layers 1 to n - 1 of another head: training keeps them equal, and a saved
// head has a copy of its own.
//
// Source: Chang, Alate and Grover, "That was smooth" (l1, cosine and concat; dropout before the
// classifier); Hanson, Kothari and Zhu, PolarBERT (several layers with dropout before and between,
// combined inputs, [u; v], dropout of one side, shared layers); concat is the classification
// objective of Reimers and Gurevych 2019, section 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

struct HeadSettings {
  std::string name;             // letters, digits, - and _
  std::string kind = "linear";  // see above
  std::string input = "single";
  // Logits mean "classes" (softmax over class_names), "probability" (sigmoid of one) or "score".
  std::string output = "score";
  std::vector<std::string> class_names;  // only with output classes: k names
  int64_t layers = 2;                    // mlp: linear layers
  int64_t width = 0;                     // mlp: outputs of the inner layers; 0: H
  bool difference = true;                // concat and mlp of a pair: |u - v| among the features
  double dropout = 0.1;
  std::string dropout_side = "both";  // concat and mlp of a pair: both or first
  std::string shares;                 // mlp: the head whose layers but the last it has; empty: none

  void visit(OptionVisitor& v);
};

// Errors (kRecipe), naming the head: an unknown kind, input or output; a kind that cannot take the
// input; fewer than two classes, class names without output classes or twice; classes of l1 or
// cosine; a name that is not a folder name; sizes out of range.
void check_head(const HeadSettings& settings);
// The same for each, that no name occurs twice, and that heads which share layers have equal ones.
void check_heads(const std::vector<HeadSettings>& heads);

// The number of the head of that name; an empty name means the only one. Errors (kRecipe): no such
// head, or none or several where the name is empty; says what `owner` has.
size_t find_head(const std::vector<HeadSettings>& heads, const std::string& name,
                 const std::string& owner = "the model");

// The place of each of `names`, classes in `file`, among a head's. Errors (kInput): one it lacks.
std::vector<int32_t> match_classes(const std::vector<std::string>& names,
                                   const std::vector<std::string>& known, const std::string& file);

bool head_takes_pairs(const HeadSettings& settings);  // input pair or joint: two texts
// Features, outputs of the inner layers, k: layer i has widths[i] inputs and widths[i + 1] outputs.
std::vector<int64_t> head_widths(const HeadSettings& settings, int64_t H);

// "layers.0.weight" [out, in], "layers.0.bias" [out], "layers.1.weight" ...; weight decay applies
// to weights, but not to the one factor of l1 and cosine.
std::vector<ParameterSlot> head_layout(const HeadSettings& settings, int64_t H);
int64_t head_parameter_count(const HeadSettings& settings, int64_t H);
// The weights of layers 1 to n - 1, which come first: what heads can share.
int64_t inner_parameter_count(const HeadSettings& settings, int64_t H);

// Fills flat[head_parameter_count(settings, H)]: weights from N(0, 0.02^2), biases 0, like the
// encoder's. l1 starts as 1 - |u - v|_1 / H and cosine as cos(u, v), so that equal texts have 1.
// Each tensor draws from its own stream, "head/NAME layers.0.weight".
void initialise_head_weights(const HeadSettings& settings, int64_t H, uint64_t seed, float* flat);

}  // namespace simile
