// SPDX-License-Identifier: Apache-2.0
#include "simile/model/head_settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "simile/core/check.h"
#include "simile/core/random.h"

namespace simile {
namespace {

constexpr int64_t kMostLayers = 16, kMostWidth = 65536;
constexpr double kMostDropout = 0.9;

const std::vector<std::string> kInputs = {"single", "pair", "joint"};
const std::vector<std::string> kOutputs = {"classes", "probability", "score"};
const std::vector<std::string> kSides = {"both", "first"};

struct HeadKind {
  const char* name;
  std::vector<std::string> inputs;
};

const std::vector<HeadKind>& head_kinds() {
  static const std::vector<HeadKind> kinds = {{"l1", {"pair"}},
                                              {"cosine", {"pair"}},
                                              {"concat", {"pair"}},
                                              {"linear", {"single", "joint"}},
                                              {"mlp", {"single", "pair", "joint"}}};
  return kinds;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const HeadKind& kind : head_kinds()) names.push_back(kind.name);
  return names;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool is_affine(const HeadSettings& s) { return s.kind == "l1" || s.kind == "cosine"; }

// Two vectors as the features of linear layers: concat, and mlp of a pair.
bool joins_vectors(const HeadSettings& s) { return s.input == "pair" && !is_affine(s); }

[[noreturn]] void fail(const HeadSettings& s, const std::string& message) {
  throw_error(ErrorKind::kRecipe, "head '{}': {}", s.name, message);
}

void check_choice(const HeadSettings& s, const char* key, const std::string& value,
                  const std::vector<std::string>& choices) {
  if (contains(choices, value)) return;
  fail(s, fmt::format("'{}' should be one of {}, found '{}'{}", key, fmt::join(choices, ", "),
                      value, did_you_mean(value, choices)));
}

void check_kind(const HeadSettings& s) {
  check_choice(s, "kind", s.kind, kind_names());
  check_choice(s, "input", s.input, kInputs);
  std::vector<std::string> fitting;
  for (const HeadKind& kind : head_kinds()) {
    if (!contains(kind.inputs, s.input)) continue;
    if (kind.name == s.kind) return;
    fitting.push_back(kind.name);
  }
  fail(s, fmt::format("kind '{}' cannot take input '{}'; kinds that can: {}", s.kind, s.input,
                      fmt::join(fitting, ", ")));
}

void check_output(const HeadSettings& s) {
  check_choice(s, "output", s.output, kOutputs);
  if (s.output != "classes") {
    if (!s.class_names.empty())
      fail(s, fmt::format("'class_names' need 'output: classes', found '{}'", s.output));
    return;
  }
  if (is_affine(s))
    fail(s, fmt::format("kind '{}' gives one number, which cannot be classes; use concat or mlp",
                        s.kind));
  if (s.class_names.size() < 2)
    fail(s, fmt::format("output classes needs at least two 'class_names', found {}; name them, or "
                        "train the head on data with `format: classes`, which has them",
                        s.class_names.size()));
  std::set<std::string> seen;
  for (const std::string& name : s.class_names) {
    if (!seen.insert(name).second) fail(s, fmt::format("class '{}' is named twice", name));
  }
}

void check_shared_layers(const HeadSettings& s, const std::vector<HeadSettings>& heads) {
  const HeadSettings& owner =
      heads[find_head(heads, s.shares, fmt::format("'shares' of head '{}': the model", s.name))];
  if (owner.name == s.name || !owner.shares.empty())
    fail(s,
         fmt::format("'shares' should name a head with layers of its own, found '{}'", s.shares));
  const auto layers = [](const HeadSettings& h) {
    return fmt::format("kind {} of {} layers, width {}, on {}", h.kind,
                       h.kind == "mlp" ? h.layers : 1, h.width,
                       !joins_vectors(h) ? "one vector"
                       : h.difference    ? "two vectors and their difference"
                                         : "two vectors");
  };
  if (s.kind != "mlp" || s.layers < 2 || layers(s) != layers(owner))
    fail(s, fmt::format("'shares' needs two heads of kind mlp with the same layers, two or more; "
                        "this is {}, '{}' is {}",
                        layers(s), owner.name, layers(owner)));
}

}  // namespace

void HeadSettings::visit(OptionVisitor& v) {
  v.field("name", name, {"name of the head: letters, digits, - and _"});
  v.field("kind", kind,
          choice_info("kind of head: for pairs l1, cosine, concat or mlp, else linear or mlp",
                      kind_names()));
  v.field("input", input,
          choice_info("one text, two texts embedded separately, or two encoded as one sequence",
                      kInputs));
  v.field("output", output,
          choice_info("softmax over class_names, sigmoid of one logit, or one unchanged number",
                      kOutputs));
  v.field("class_names", class_names,
          {"names of the classes, in the order of the logits; empty: those of the training data"});
  v.field("layers", layers, {"linear layers of an mlp", "", 1, static_cast<double>(kMostLayers)});
  v.field("width", width,
          {"outputs of an mlp's inner layers; 0: the encoder's hidden size", "", 0,
           static_cast<double>(kMostWidth)});
  v.field("difference", difference,
          {"concat or mlp of pairs: read the absolute difference of the vectors, too"});
  v.field("dropout", dropout, {"dropout of the input of every linear layer", "", 0, kMostDropout});
  v.field(
      "dropout_side", dropout_side,
      choice_info("concat or mlp of pairs: whose vector has the first layer's dropout", kSides));
  v.field(
      "shares", shares,
      {"mlp: name of another mlp with which this one shares all layers but the last; empty: none"});
}

void check_head(const HeadSettings& s) {
  const bool is_name = std::all_of(s.name.begin(), s.name.end(), [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || c == '-' || c == '_');
  });
  if (s.name.empty() || s.name.size() > 100 || !is_name)
    fail(s, "'name' should be 1 to 100 letters, digits, - and _: it becomes a folder");
  check_kind(s);
  check_output(s);
  check_choice(s, "dropout_side", s.dropout_side, kSides);
  if (!joins_vectors(s) && (!s.difference || s.dropout_side != "both"))
    fail(s, fmt::format("'difference' and 'dropout_side' need kind concat or mlp of input pair, "
                        "found kind {} of input {}",
                        s.kind, s.input));
  if (s.layers < 1 || s.layers > kMostLayers)
    fail(s, fmt::format("'layers' should be between 1 and {}, found {}", kMostLayers, s.layers));
  if (s.width < 0 || s.width > kMostWidth)
    fail(s, fmt::format("'width' should be between 0 and {}, found {}", kMostWidth, s.width));
  if (!(s.dropout >= 0 && s.dropout <= kMostDropout))
    fail(s, fmt::format("'dropout' should be between 0 and {}, found {}", kMostDropout, s.dropout));
}

void check_heads(const std::vector<HeadSettings>& heads) {
  std::set<std::string> names;
  for (const HeadSettings& head : heads) {
    check_head(head);
    if (!names.insert(head.name).second) fail(head, "there are two heads of this name");
  }
  for (const HeadSettings& head : heads) {
    if (!head.shares.empty()) check_shared_layers(head, heads);
  }
}

size_t find_head(const std::vector<HeadSettings>& heads, const std::string& name,
                 const std::string& owner) {
  std::vector<std::string> names;
  for (size_t i = 0; i < heads.size(); ++i) {
    names.push_back(heads[i].name);
    if (names.back() == name || (name.empty() && heads.size() == 1)) return i;
  }
  const std::string has = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  SIMILE_CHECK(name.empty(), ErrorKind::kRecipe, "{} has no head '{}'; it has: {}", owner, name,
               has);
  throw Error(ErrorKind::kRecipe,
              names.empty() ? fmt::format("{} has no heads: it gives embeddings only", owner)
                            : fmt::format("{} has several heads, name one: {}", owner, has));
}

std::vector<int32_t> match_classes(const std::vector<std::string>& names,
                                   const std::vector<std::string>& known, const std::string& file) {
  std::vector<int32_t> places;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    SIMILE_CHECK(
        found != known.end(), ErrorKind::kInput,
        "{}: the head does not know the class '{}'; the data has the classes {}, the head {}", file,
        name, fmt::join(names, ", "), fmt::join(known, ", "));
    places.push_back(static_cast<int32_t>(found - known.begin()));
  }
  return places;
}

bool head_takes_pairs(const HeadSettings& settings) { return settings.input != "single"; }

std::vector<int64_t> head_widths(const HeadSettings& settings, int64_t H) {
  std::vector<int64_t> widths = {is_affine(settings) ? 1 : H};
  if (joins_vectors(settings)) widths[0] = settings.difference ? 3 * H : 2 * H;
  const int64_t inner = settings.kind == "mlp" ? settings.layers - 1 : 0;
  widths.insert(widths.end(), static_cast<size_t>(inner), settings.width > 0 ? settings.width : H);
  const bool classes = settings.output == "classes";
  widths.push_back(classes ? static_cast<int64_t>(settings.class_names.size()) : 1);
  return widths;
}

std::vector<ParameterSlot> head_layout(const HeadSettings& settings, int64_t H) {
  const std::vector<int64_t> widths = head_widths(settings, H);
  std::vector<ParameterSlot> slots;
  int64_t offset = 0;
  const auto add = [&](size_t layer, const char* part, std::vector<int64_t> shape, bool decays) {
    int64_t size = 1;
    for (const int64_t side : shape) size *= side;
    slots.push_back(
        {fmt::format("layers.{}.{}", layer, part), std::move(shape), offset, size, decays});
    offset += size;
  };
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    add(i, "weight", {widths[i + 1], widths[i]}, !is_affine(settings));
    add(i, "bias", {widths[i + 1]}, false);
  }
  return slots;
}

int64_t head_parameter_count(const HeadSettings& settings, int64_t H) {
  const ParameterSlot last = head_layout(settings, H).back();
  return last.offset + last.size;
}

int64_t inner_parameter_count(const HeadSettings& settings, int64_t H) {
  const std::vector<ParameterSlot> slots = head_layout(settings, H);
  return slots[slots.size() - 2].offset;
}

void initialise_head_weights(const HeadSettings& settings, int64_t H, uint64_t seed, float* flat) {
  constexpr double kDeviation = 0.02;
  if (is_affine(settings)) {
    flat[0] = 1.0f;
    flat[1] = settings.kind == "l1" ? 1.0f : 0.0f;
    return;
  }
  for (const ParameterSlot& slot : head_layout(settings, H)) {
    float* values = flat + slot.offset;
    std::fill(values, values + slot.size, 0.0f);
    if (!slot.decays) continue;  // biases
    RandomStream stream(seed, fmt::format("head/{} {}", settings.name, slot.name));
    for (int64_t i = 0; i < slot.size; ++i) {
      values[i] = static_cast<float>(kDeviation * stream.normal());
    }
  }
}

}  // namespace simile
