// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_files.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"
#include "simile/model/model_folder.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:53aa51\nsize 90868376\n";
constexpr const char* kBert =
    R"({"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8, "vocab_size": 5, "max_position_embeddings": 9})";
constexpr const char* kCross =
    R"({"model_type": "bert", "architectures": ["BertForSequenceClassification"],
        "id2label": {"0": "LABEL_0"}})";

TEST(ModelFiles, AFolderThatIsNoModelIsNamed) {
  struct File {
    const char* name;
    const char* text;
  };
  struct Case {
    const char* folder;
    std::vector<File> files;
    std::vector<const char*> message;
  };
  const Case cases[] = {
      {"pointer",
       {{"config.json", kBert}, {"model.safetensors", kPointer}},
       {"pointer/model.safetensors' is not the file but a pointer of Git LFS",
        "`git lfs pull` in its folder", "simile get ORG/NAME"}},
      {"torch pointer",
       {{"config.json", kBert}, {"pytorch_model.bin", kPointer}},
       {"pytorch_model.bin' is not the file but a pointer"}},
      {"config pointer",
       {{"config.json", kPointer}, {"model.safetensors", ""}},
       {"config.json' is not the file but a pointer"}},
      {"tokenizer pointer",
       {{"config.json", kBert}, {"tokenizer.json", kPointer}},
       {"tokenizer.json' is not the file but a pointer"}},
      {"module pointer",
       {{"modules.json", "[]"}, {"2_Dense/model.safetensors", kPointer}},
       {"2_Dense/model.safetensors' is not the file but a pointer"}},
      {"lora",
       {{"adapter_config.json", "{}"}, {"adapter_model.safetensors", "x"}},
       {"lora' is an adapter (LoRA)", "merge_and_unload()"}},
      {"lora with modules",
       {{"modules.json", "[]"}, {"adapter_config.json", "{}"}},
       {"is an adapter (LoRA)"}},
      {"gguf",
       {{"README.md", ""}, {"model-q8_0.gguf", "GGUF"}},
       {"has its weights only in 'model-q8_0.gguf', a file for llama.cpp (GGUF)",
        "simile get ORG/NAME"}},
      {"gguf and config",
       {{"config.json", kBert}, {"m.gguf", "GGUF"}},
       {"has its weights only in 'm.gguf'"}},
      {"onnx",
       {{"config.json", kBert}, {"onnx/model.onnx", "x"}},
       {"'onnx/model.onnx', a file for ONNX Runtime; expected model.safetensors"}},
      {"tensorflow", {{"config.json", kBert}, {"tf_model.h5", "x"}}, {"for TensorFlow"}},
      {"torch's own",
       {{"config.json", kBert}, {"model.pt", "x"}},
       {"'model.pt', a file for its own"}},
      {"no weights", {{"config.json", kBert}}, {"has neither model.safetensors nor"}},
      {"no config", {{"model.safetensors", "x"}}, {"has neither config.json nor modules.json"}},
      {"above",
       {{"run/config.json", "{}"}, {"run/model.safetensors", "x"}, {"b/config.json", "{}"}},
       {"above' holds no model itself, but models lie below it: '", "above/run'; give that path"}},
      {"above two",
       {{"a/modules.json", "[]"},
        {"a/0_T/config.json", "{}"},
        {"a/0_T/pytorch_model.bin", "x"},
        {"b/config.json", "{}"},
        {"b/model.safetensors", "x"}},
       {"above two/a', '"}},
      {"models--a--b",
       {{"refs/main", "01"},
        {"snapshots/01/config.json", "{}"},
        {"snapshots/01/model.safetensors", "x"}},
       {"b/snapshots/01'; give"}},
      {"decoder",
       {{"config.json", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"]})"},
        {"model.safetensors", "x"}},
       {"\"model_type\" is \"llama\", a decoder, which writes text; known: bert"}},
      {"cross",
       {{"config.json", kCross}, {"model.safetensors", "x"}},
       {"a cross-encoder (one label)", "makes no vectors"}},
  };
  const ScratchFolder scratch("simile-model-files");
  for (const Case& c : cases) {
    const std::string folder = join_path(scratch.path(), c.folder);
    for (const File& file : c.files) {
      const std::string path = join_path(folder, file.name);
      make_folders(fs::path(path).parent_path().string());
      write_file_atomic(path, file.text);
    }
    const std::string error = error_of([&] { open_model_folder(folder, silent_events()); });
    for (const char* part : c.message) EXPECT_THAT(error, HasSubstr(part)) << c.folder;
  }
  const std::string file = join_path(scratch.path(), "gguf/model-q8_0.gguf");
  EXPECT_THAT(error_of([&] { open_model_folder(file, silent_events()); }),
              HasSubstr("gguf' is a GGUF file, which is for llama.cpp; expected a folder"));
}

TEST(ModelFiles, APointerThatIsNotReadDoesNotMatter) {
  const ScratchFolder scratch("simile-pointers");
  const std::string folder = scratch.path();
  make_folders(join_path(folder, "onnx"));
  for (const char* name :
       {"onnx/model.onnx", "onnx/config.json", "pytorch_model.bin", "tf_model.h5"})
    write_file_atomic(join_path(folder, name), kPointer);
  write_file_atomic(join_path(folder, "model.safetensors"), "x");
  EXPECT_EQ(error_of([&] { refuse_lfs_pointers(folder); }), "");
  EXPECT_EQ(resolve_model(folder), folder);
}

TEST(ModelFiles, OnlyWhatIsReadIsChosen) {
  EXPECT_THAT(choose_model_files({".gitattributes", "1_Pooling/config.json", "LICENSE", "README.md",
                                  "config.json", "model.safetensors", "onnx/model.onnx",
                                  "openvino/config.json", "pytorch_model.bin", "rust_model.ot"}),
              ElementsAre("1_Pooling/config.json", "LICENSE", "README.md", "config.json",
                          "model.safetensors"));
  EXPECT_THAT(choose_model_files({"pytorch_model-1.bin", "training_args.bin"}),
              ElementsAre("pytorch_model-1.bin"));
  EXPECT_THAT(explain_no_model("", {"config.json", "pytorch_model.bin"}), IsEmpty());
  EXPECT_THAT(explain_no_model("", {"0_T/model.safetensors", "modules.json"}), IsEmpty());
}

}  // namespace
}  // namespace simile
