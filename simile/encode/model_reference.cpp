// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/model_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "simile/model/encoder_family.h"
#include "simile/model/model_settings.h"
#include "simile/model/tensor_source.h"
#include "simile/model/tokenizer_files.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  return fmt::format("`{}`", fmt::join(names, "`, `"));
}

constexpr const char* kStatic =
    "\n## Static encoders\n\nA vector for each token, whose mean is the text's: the module "
    "StaticEmbedding of sentence-transformers in the place of Transformer and Pooling, and "
    "folders of Model2Vec, with modules.json or without. The table is the tensor "
    "`embedding.weight` or `embeddings` [tokens, dimensions] of the module's weights; Model2Vec's "
    "`weights` (a factor a token) and `mapping` (the row of a token) are followed. No special "
    "tokens are put around texts. Where the table is in F32, F16 or I8 it is used as it lies in "
    "the file. Unlike Model2Vec's own program, unknown tokens count with their row.\n\nThe module "
    "simile.StaticEmbedding is the same with a `config.json` beside the table: in the mean the "
    "token at place k (from 0), the o-th of its kind in the text, weighs (o^a - (o - 1)^a) / "
    "(1 + k / p), a being `saturation` and p `half_position` (0: places count alike). Only Simile "
    "reads it.\n";

constexpr const char* kJoined =
    "\n## Joined encoders\n\nSeveral encoders as one, which `simile join` makes: each part's "
    "vector "
    "of "
    "a text is divided by its length, multiplied by the part's weight, and put beside the others'. "
    "So the cosine of two texts is the mean of the parts' cosines, weighted by the squares of "
    "their "
    "weights. modules.json names the module `simile.Joined`, which Simile alone reads, in the "
    "place "
    "of Transformer and Pooling; its folder holds\n\n"
    "- config.json: `parts`, a list of `{\"path\": ..., \"weight\": ...}`, and `closing_tokens`, "
    "how "
    "many special tokens the tokenizer puts behind a text;\n"
    "- each part at its path: a model folder of its own, with the same tokenizer.json as the "
    "others, "
    "and with nothing after pooling but Normalize. sentence-transformers loads it, but for weights "
    "in I8 and tables of weighed tokens; where it loads every part, README.md of the model says "
    "how "
    "to put their vectors together in Python;\n"
    "- sentence_bert_config.json: `max_seq_length` of the whole. A part whose own limit is shorter "
    "sees the beginning of a text, and the special tokens behind it.\n\n"
    "Where a part needs special tokens, a static one has rows of zeros for them. Parts that are "
    "static come first, so that training updates their rows only when they are used. "
    "`static_learning_rate` of a recipe's stage gives them a learning rate of their own.\n";

std::string families() {
  std::string text =
      "## Encoders\n\nBy `model_type` of config.json. Without modules.json a folder is pooled as "
      "its family usually is, and a warning says so.\n\n| model_type | class in transformers | "
      "prefix that may stand before names | usual pooling |\n| --- | --- | --- | --- |\n";
  for (const std::string& name : encoder_family_names()) {
    const EncoderFamily& family = *find_encoder_family(name);
    text += fmt::format("| {} | {} | {} | {} |\n", name, family.architecture,
                        family.prefix.empty() ? "none" : "`" + family.prefix + "`", family.pooling);
  }
  text += fmt::format("\nActivations between the products of the feed-forward network: {}.\n",
                      list_of(encoder_activation_names()));
  return text + kStatic + kJoined;
}

std::string weights() {
  return fmt::format(
      "\n## Weights\n\nThe first there is of {}. An index names several files of its folder; every "
      "tensor must be in the file that the index names.\n\n"
      "- safetensors: F32, F16 and BF16; I8 for matrices with one F32 a row in `NAME.scale`, which "
      "`simile convert --precision int8` writes and Simile alone reads. Such a file has about a "
      "quarter of the size in F32. It is called `{}`, so that other programs find no weights in "
      "the "
      "folder rather than take bytes for floats; those of earlier versions, called "
      "`model.safetensors`, are read too.\n"
      "- `torch_dtype` of a saved config.json is float32 in every precision: transformers computes "
      "in the type that stands there, Simile in floats.\n"
      "- A pooler's weights are kept when a model is trained or converted, as they were.\n"
      "- torch: files of `torch.save(model.state_dict())` since torch 1.6 (zip). The pickle inside "
      "is read as data: only a dictionary of tensors is understood, everything else is refused by "
      "its name and nothing is run. Check sums of the zip are not compared.\n\n"
      "Files are mapped and read where they lie. Every offset and size is checked before anything "
      "is read or allocated; a weight that is missing, of another shape or type, or not finite is "
      "an error that names it.\n",
      list_of(weight_file_names()), weight_file_name(TensorType::kI8));
}

std::string poolings() {
  std::string text =
      "\n## Poolings\n\nOver the hidden states h_1 ... h_n of a text's tokens, special ones "
      "included. Several are put one behind the other: flags of the older schema in the order of "
      "this table, names of the newer one in theirs. With `include_prompt` false the tokens of a "
      "prompt, and the special token before it, are left out.\n\n| pooling_mode | older schema | "
      "vector |\n| --- | --- | --- |\n";
  for (const PoolingModeRow& row : pooling_modes()) {
    text += fmt::format("| {} | `{}` | {} |\n", row.name, row.flag, row.formula);
  }
  return text;
}

std::string modules() {
  std::string text =
      "\n## Modules\n\nmodules.json lists Transformer and Pooling, or StaticEmbedding, or "
      "simile.StaticEmbedding, or simile.Joined, and then any of these in any order. Training "
      "knows Normalize alone, at the end, and Dropout, which it passes over; models with others "
      "are for inference.\n\n"
      "| module | vector | config.json | tensors |\n| --- | --- | --- | --- |\n"
      "| Dense | f(W x + b), with `use_residual` + R x, or + x where sizes are equal | "
      "`in_features`, "
      "`out_features`, `bias`, `activation_function`, `use_residual` | `linear.weight`, "
      "`linear.bias`, `residual.weight` |\n"
      "| Dropout | x, and it is left out of what is saved | | |\n"
      "| LayerNorm | (x - mean) / sqrt(variance + 1e-5) * w + b | `dimension` | `norm.weight`, "
      "`norm.bias` |\n| Normalize | x / norm of x | | |\n\nActivations f of Dense:\n\n"
      "| activation_function | f(x) |\n| --- | --- |\n";
  for (const DenseActivation& row : dense_activations()) {
    text += fmt::format("| `{}` | {} |\n", row.torch_name, row.formula);
  }
  return text;
}

std::string texts() {
  return "\n## Texts\n\n"
         "- Length: `max_seq_length` of sentence_bert_config.json, else `model_max_length` of "
         "tokenizer_config.json, never more than the encoder's positions. Truncation and padding "
         "of tokenizer.json do not count.\n"
         "- `do_lower_case`: texts are lower-cased before the tokenizer, unless it does so "
         "itself.\n"
         "- Prompts of config_sentence_transformers.json: `--prompt-name NAME`. Without it, "
         "queries "
         "of a ranking, a search and of mining have the prompt `query`, their documents (also "
         "those "
         "of an index) the first there is of `document`, `passage` and `corpus`; where there is "
         "none, and for all other texts, `default_prompt_name` counts. `document` as a NAME is the "
         "first of these three too. A name the model does not have is an error that lists those it "
         "has. An index remembers the name that it was built with: `index add` takes it, and "
         "refuses "
         "another.\n"
         "- Training puts no prompt before texts but those of an objective's `prompts`: `{left: "
         "NAME, right: NAME}`, names of the model's prompts or texts.\n"
         "- `similarity_fn_name`: cosine, dot, euclidean, manhattan. `truncate_dim`: leading "
         "dimensions kept.\n";
}

std::string tokenizers() {
  std::string text = fmt::format(
      "\n## Tokenizers\n\nFrom tokenizer.json where there is one. Files kept when a model is "
      "saved: "
      "{}.\n\n| part of tokenizer.json | known |\n| --- | --- |\n",
      list_of(tokenizer_file_names()));
  for (const auto& [part, names] : tokenizer_component_names()) {
    text += fmt::format("| {} | {} |\n", part, list_of(names));
  }
  return text;
}

constexpr const char* kVersions =
    "\n## Where versions and programs differ\n\nSimile follows sentence-transformers 5.4 and "
    "later, "
    "and the models' own code:\n\n"
    "- Texts and prompts keep white space at their ends, which versions up to 5.3 strip.\n"
    "- With `include_prompt` false, cls is the first token behind the prompt; up to 5.3 it is the "
    "first of all.\n"
    "- A model without a prompt `document` falls back to `passage`, `corpus` and the default; in "
    "5.0 "
    "to 5.3 every model has empty prompts `query` and `document`, which come first.\n"
    "- Position tables of RoBERTa's kin and MPNet: where the padding token is written out in a "
    "text, it takes its own row and is not counted. MPNet has 32 buckets of distances, whatever "
    "`relative_attention_num_buckets` says. Nomic computes gelu by erf, also where "
    "`activation_function` is gelu_new, gelu_fast or gelu_pytorch_tanh.\n"
    "- `mcc` of pairs is at the threshold of F1. Mining `batch_hard` keeps texts that are alone of "
    "their class.\n"
    "- Pairs of equal vectors have the cosine 1 exactly, so that they tie in Spearman's "
    "correlation; "
    "rounding would put them in some order. sentence-transformers does not do this.\n";

constexpr const char* kRefused =
    "\n## Refused\n\nWith a message that names the file, the key and what is known:\n\n"
    "- other families, modules, poolings, activations, tokenizer parts, and keys of their "
    "configurations that are not known;\n"
    "- a module that reads or writes anything but the sentence's vector, modules in another "
    "order;\n"
    "- arguments in sentence_bert_config.json that change what the encoder computes;\n"
    "- paths that lead out of the model folder;\n"
    "- torch files from before 1.6, of whole modules or training checkpoints, in big-endian order; "
    "weights of TensorFlow, Flax or ONNX alone.\n";

}  // namespace

std::string model_reference() {
  return "# Models\n\nPrinted by `simile docs models`: folders of sentence-transformers in its "
         "older "
         "and newer schema, and plain folders of transformers.\n\n" +
         families() + weights() + poolings() + modules() + texts() + tokenizers() + kVersions +
         kRefused;
}

}  // namespace simile
