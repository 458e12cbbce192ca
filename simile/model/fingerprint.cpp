// SPDX-License-Identifier: Apache-2.0
#include "simile/model/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "simile/core/file.h"

namespace simile {
namespace {

constexpr size_t kBlock = size_t{1} << 20;
// The first fractional digits of pi: numbers with nothing up their sleeve.
constexpr uint64_t kKeys[4] = {0x243f6a8885a308d3u, 0x13198a2e03707345u, 0xa4093822299f31d1u,
                               0x082efa98ec4e6c89u};

struct Hash128 {
  uint64_t a, b;
};

// Both halves of the 128-bit product, folded; the factors stay in, so that a factor of 0 loses
// nothing.
uint64_t fold(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ x ^
         (y << 32 | y >> 32);
}

Hash128 hash_block(const char* data, size_t size, uint64_t number) {
  Hash128 h{kKeys[0] ^ number, kKeys[1] ^ size};
  size_t done = 0;
  const auto mix = [&h](const char* from) {
    uint64_t w[4];
    std::memcpy(w, from, sizeof w);
    h.a = fold(w[0] ^ kKeys[2], w[1] ^ h.a) + w[2];
    h.b = fold(w[2] ^ kKeys[3], w[3] ^ h.b) + w[0];
  };
  for (; done + 32 <= size; done += 32) mix(data + done);
  char rest[32] = {};
  std::copy(data + done, data + size, rest);
  mix(rest);
  const uint64_t a = fold(h.a ^ kKeys[1], h.b ^ kKeys[2]), b = fold(h.b ^ kKeys[0], h.a ^ kKeys[3]);
  return {fold(a, kKeys[3]), fold(b, kKeys[2])};
}

std::string describe_module(const ModuleSettings& m) {
  std::string_view weights;
  if (m.weights != nullptr) {
    weights = {reinterpret_cast<const char*>(m.weights->data()), m.weights->size() * sizeof(float)};
  }
  return fmt::format("{} {} {} {} {} {} {}\n", module_kind_name(m.kind), m.inputs, m.outputs,
                     m.activation, m.bias, m.residual, hash_bytes(weights));
}

std::string describe_settings(const ModelSettings& s) {
  EncoderConfig encoder = s.encoder;
  if (encoder.model_type == "bert")
    encoder.document.clear();  // its keys say all, and only they count
  std::string text = encoder_config_to_json(encoder);
  text += fmt::format("{} {} {} {} {} {}\n", pooling_name(s.pooling), s.normalize, s.max_length,
                      s.dimensions, s.similarity, s.default_prompt);
  for (const auto& [name, prompt] : s.prompts) {
    text += fmt::format("{} {} {} {}\n", name.size(), name, prompt.size(), prompt);
  }
  // Said only where they are: models without them keep their fingerprint.
  if (!s.pooling.include_prompt) text += "without prompt\n";
  if (s.lower_case) text += "lower case\n";
  for (const ModuleSettings& module : s.modules) text += describe_module(module);
  return text;
}

// `finished` is called with the place and size of each block that was read, from several threads.
std::string hash_blocks(std::string_view bytes,
                        const std::function<void(size_t, size_t)>& finished) {
  const size_t blocks = (bytes.size() + kBlock - 1) / kBlock;
  std::vector<Hash128> hashes(blocks);
#pragma omp parallel for schedule(dynamic, 1) if (blocks > 1)
  for (size_t i = 0; i < blocks; ++i) {
    const std::string_view block = bytes.substr(i * kBlock, kBlock);
    hashes[i] = hash_block(block.data(), block.size(), i);
    finished(i * kBlock, block.size());
  }
  const Hash128 whole = hash_block(reinterpret_cast<const char*>(hashes.data()),
                                   hashes.size() * sizeof(Hash128), bytes.size());
  return fmt::format("{:016x}{:016x}", whole.a, whole.b);
}

std::string hash_file(const std::string& path) {
  const MappedFile file(path);
  return hash_blocks(file.bytes(),
                     [&file](size_t offset, size_t size) { file.release(offset, size); });
}

}  // namespace

std::string hash_bytes(std::string_view bytes) {
  return hash_blocks(bytes, [](size_t, size_t) {});
}

std::string model_fingerprint(const ModelFolder& model) {
  std::string hashes = hash_bytes(describe_settings(model.settings));
  for (const std::string& file : weight_files(model.weights_path)) hashes += hash_file(file);
  if (folder_exists(model.tokenizer_path)) {
    for (const auto& [name, bytes] : read_tokenizer_files(model.tokenizer_path)) {
      hashes += hash_bytes(name) + hash_bytes(bytes);
    }
  } else {
    hashes += hash_file(model.tokenizer_path);
  }
  return hash_bytes(hashes);
}

}  // namespace simile
