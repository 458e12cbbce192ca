// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/random.h"
#include "simile/model/detail/state_dict.h"
#include "simile/model/tensor_source.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFolder = SIMILE_SOURCE_DIR "/tests/golden/torch_files/";

std::string golden_bytes(const std::string& name) { return read_file(kFolder + name); }

// The message of the error that these bytes of a file give; empty when they open.
std::string parse_error(const std::string& bytes) {
  return error_of(ErrorKind::kInput, [&] { parse_torch_file("hostile.bin", bytes); });
}

std::string pickle_error(const std::string& pickle) {
  return error_of(ErrorKind::kInput, [&] { detail::read_state_dict(pickle, "hostile.bin"); });
}

// `bytes` with the last or first occurrence of `from` replaced by `to` of the same length.
std::string with(std::string bytes, const std::string& from, const std::string& to,
                 bool last = false) {
  const size_t at = last ? bytes.rfind(from) : bytes.find(from);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(from.size(), to.size());
  return bytes.replace(at, from.size(), to);
}

std::vector<double> read_numbers(const TensorSource& file, const TensorInfo& tensor) {
  if (tensor.type == TensorType::kI64) {
    std::vector<int64_t> whole(static_cast<size_t>(tensor.size));
    std::copy_n(file.bytes(tensor).data(), tensor.bytes, reinterpret_cast<char*>(whole.data()));
    return {whole.begin(), whole.end()};
  }
  std::vector<float> floats(static_cast<size_t>(tensor.size));
  file.read_floats(tensor, 0, tensor.size, floats.data());
  return {floats.begin(), floats.end()};
}

TEST(TorchFileGolden, EveryTensorIsReadAsTorchWroteIt) {
  const json expected = json::parse(golden_bytes("expected.json"));
  const std::map<std::string, TensorType> types = {{"float32", TensorType::kF32},
                                                   {"float16", TensorType::kF16},
                                                   {"bfloat16", TensorType::kBf16},
                                                   {"int64", TensorType::kI64}};
  for (const auto& [name, tensors] : expected.items()) {
    const TorchFile file(kFolder + name + ".bin");
    EXPECT_EQ(file.tensors().size(), tensors.size()) << name;
    for (const auto& [key, tensor] : tensors.items()) {
      const TensorInfo* found = file.find(key);
      ASSERT_NE(found, nullptr) << name << " " << key;
      EXPECT_EQ(found->type, types.at(tensor["dtype"])) << key;
      EXPECT_EQ(found->shape, tensor["shape"].get<std::vector<int64_t>>()) << key;
      EXPECT_EQ(read_numbers(file, *found), tensor["values"].get<std::vector<double>>()) << key;
    }
  }
}

TEST(TorchFile, APartOfAStridedTensorIsReadFromAnyPlace) {
  const TorchFile file(kFolder + "kinds.bin");
  const TensorInfo& tensor = *file.find("transposed");  // [4, 3]
  EXPECT_THAT(tensor.strides, ElementsAre(1, 4));
  EXPECT_EQ(file.floats_in_place(tensor), nullptr);
  EXPECT_EQ(file.halves_in_place(*file.find("half_transposed")), nullptr);
  std::vector<float> whole(12);
  file.read_floats(tensor, 0, 12, whole.data());
  for (int64_t begin = 0; begin < 12; ++begin) {
    for (int64_t count = 0; begin + count <= 12; ++count) {
      std::vector<float> part(static_cast<size_t>(count));
      file.read_floats(tensor, begin, count, part.data());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + begin)) << begin;
    }
  }
}

TEST(TorchFile, TiedTensorsShareTheirPlaceAndFloatsAreReadInPlace) {
  const TorchFile file(kFolder + "kinds.bin");
  ASSERT_NE(file.floats_in_place(*file.find("tied")), nullptr);
  EXPECT_EQ(file.floats_in_place(*file.find("tied")),
            file.floats_in_place(*file.find("tied_again")));
  EXPECT_EQ(file.floats_in_place(*file.find("row_of_shared")),
            file.floats_in_place(*file.find("tied")) + 4);
  ASSERT_NE(file.halves_in_place(*file.find("f16")), nullptr);
}

TEST(TorchFile, WhatIsNoStateDictIsRefusedByName) {
  struct Case {
    const char* file;
    const char* message;
  };
  const Case cases[] = {
      {"legacy.bin", "the format of torch before 1.6"},
      {"legacy.bin", "safe_serialization=True"},
      {"checkpoint.bin", "'epoch' is a number, not a tensor"},
      {"whole_module.bin", "'torch.nn.modules.linear.Linear', which is refused; nothing was run"},
      {"expected.json", "no zip archive"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(parse_error(golden_bytes(c.file)), HasSubstr(c.message)) << c.file;
  }
}

TEST(TorchFile, HostilePicklesAreRefusedWithTheReason) {
  using std::string_literals::operator""s;
  const std::string dict = "\x80\x02}";
  const std::string storage =
      "(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"s + "0X\x03\0\0\0cpuK\x06tQ"s;
  const std::string key = "X\x01\0\0\0w"s, rebuild = "ctorch._utils\n_rebuild_tensor_v2\n";
  struct Case {
    std::string pickle;
    const char* message;
  };
  const Case cases[] = {
      {"", "ends in the middle"},
      {"\x80\x02", "ends in the middle"},
      {"\x80\x07}.", "is of pickle protocol 7"},
      {"\x80\x02"
       "cos\nsystem\nX\x02\0\0\0lstR."s,
       "'os.system', which is refused; nothing was run"},
      {"\x80\x02"
       "cbuiltins\neval\n."s,
       "'builtins.eval'"},
      {"\x80\x04\x8c\x05posix\x8c\x06system\x93."s, "'posix.system'"},
      {dict + "i", "0x69 (INST)"},
      {dict + "\x81.", "0x81 (NEWOBJ)"},
      {dict + "\x82\x01.", "0x82 (EXT1)"},
      {dict + "Pid\n.", "(PERSID)"},
      {dict + "\xff.", "0xff"},
      {"\x80\x02K\x01.", "the file's content is a number, not a dictionary"},
      {"\x80\x02}}.", "values left over"},
      {"\x80\x02.", "values left over"},
      {dict + "(.", "values left over"},
      {dict + "t.", "a mark that is not there"},
      {"\x80\x02\x85.", "takes a value from nothing"},
      {dict + "(\x86.", "takes a value from nothing"},
      {dict + "j\xff\xff\xff\xff.", "recalls value 4294967295, which was not kept"},
      {dict + "X\xff\xff\xff\xff"
              "abc.",
       "ends in the middle"},
      {dict + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
              "abc.",
       "ends in the middle"},
      {dict + "\x8a\x09" + std::string(9, '\1') + ".", "a number of 9 bytes"},
      {dict + key + "K\x01s.", "'w' is a number, not a tensor"},
      {dict + "K\x01K\x02s.", "a tensor's name is a number, not a text"},
      {dict + "(" + key + "u.", "a key without a value"},
      {dict + "N}b.", "the value to change is None"},
      {dict + "NR.", "a call's arguments is None"},
      {dict + "N)R.", "what is called is None"},
      {dict + "ctorch\nFloatStorage\n)R.", "what is called is a type, not a function"},
      {dict + "ccollections\nOrderedDict\nK\x01\x85R.", "an OrderedDict made with arguments"},
      {dict + key + "Q.", "a persistent id is a text"},
      {dict + "(K\x01K\x01K\x01K\x01K\x01tQ.", "a persistent id's kind is a number"},
      {dict + key + rebuild + "(" + storage + "K\0K\x02K\x03\x86K\x03K\x01\x86\x89tRs."s,
       "a tensor made of 5 arguments"},
      {dict + key + rebuild + "(" + storage + "K\0K\x02K\x03\x86K\x01\x85\x89)tRs."s,
       "2 sides but 1 strides"},
      {dict + key + rebuild + "(" + storage + "J\xff\xff\xff\xff))\x89)tRs.",
       "begins before its storage"},
      {dict + key + rebuild + "(" + storage + "K\0J\xff\xff\xff\xff\x85K\x01\x85\x89)tRs."s,
       "sides that are not"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(pickle_error(c.pickle), HasSubstr(c.message)) << testing::PrintToString(c.pickle);
  }
  EXPECT_EQ(pickle_error(dict + "r\xff\xff\xff\xff."), "");
}

TEST(TorchFile, PicklesWithoutEndTakeBoundedMemory) {
  EXPECT_THAT(pickle_error("\x80\x02" + std::string(3 << 20, 'N')),
              HasSubstr("more than a million values"));
  EXPECT_THAT(pickle_error("\x80\x02" + std::string(3 << 20, '(') + "."),
              HasSubstr("values left over"));
  EXPECT_THAT(pickle_error(std::string(17 << 20, '(')), HasSubstr("at most"));
}

TEST(TorchFile, TensorsOutsideTheirStorageAreRefused) {
  const std::string whole = golden_bytes("module.bin");
  EXPECT_EQ(parse_error(whole), "");
  const std::string weight("K\0K\2K\3\x86q\x09K\3K\1\x86", 14);
  struct Case {
    std::string from, to;
    const char* message;
  };
  const Case cases[] = {
      {weight, std::string("K\1K\2K\3\x86q\x09K\3K\1\x86", 14), "leads out of its storage"},
      {weight, std::string("K\0K\3K\3\x86q\x09K\3K\1\x86", 14), "leads out of its storage"},
      {weight, std::string("K\0K\2K\3\x86q\x09K\4K\1\x86", 14), "leads out of its storage"},
      {weight, std::string("K\0K\x09K\3\x86q\x09K\0K\1\x86", 14), "leads out of its storage"},
      {"cpuq\7K\6t", "cpuq\7K\7t", "its zip entry has only 24 bytes"},
      {std::string("X\1\0\0\0001q", 7), std::string("X\1\0\0\0007q", 7),
       "'module/data/7', which is missing"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(parse_error(with(whole, c.from, c.to)), HasSubstr(c.message)) << c.message;
  }
}

TEST(TorchFile, DamagedArchivesAreRefused) {
  const std::string whole = golden_bytes("module.bin");       // with zip64
  const std::string repacked = golden_bytes("repacked.bin");  // without
  const std::string entry("PK\1\2", 4), end("PK\5\6", 4), end64("PK\6\6", 4);
  const auto at = [&](const std::string& mark, size_t offset, const std::string& bytes) {
    std::string changed = mark == end ? repacked : whole;
    return changed.replace(changed.rfind(mark) + offset, bytes.size(), bytes);
  };
  struct Case {
    std::string bytes;
    const char* message;
  };
  const Case cases[] = {
      {whole.substr(0, whole.size() - 1), "no end record"},
      {at(entry, 0, "XX"), "directory is damaged"},
      {at(entry, 8, "\1"), "is encrypted"},
      {at(entry, 10, "\x08"), "is compressed"},
      {at(entry, 24, "\x77"), "has two sizes"},
      {at(entry, 42, "\x77\x77\x77\x77"), "truncated"},
      {at(entry, 42, std::string(4, '\0')), "is not where the directory says"},
      {at(entry, 28, "\xff\xff"), "leads out of it"},
      {at(end64, 0, "XX"), "zip64 record is damaged"},
      {at(end64, 32, "\xff\xff"), "65535 entries expected, 4 found"},
      {at(end64, 48, std::string(8, '\xff')), "truncated"},
      {at(end64, 40, std::string(8, '\xff')), "truncated"},
      {at(end, 10, "\xff\xff"), "65535 entries expected, 4 found"},
      {at(end, 16, "\xff\xff\xff\x0f"), "truncated"},
      {at(end, 4, "\1"), "several disks"},
  };
  for (const Case& c : cases) EXPECT_THAT(parse_error(c.bytes), HasSubstr(c.message)) << c.message;
}

TEST(TorchFile, EveryTruncationIsAnErrorAndRandomDamageIsReadableOrAnError) {
  for (const char* name : {"module.bin", "kinds.bin"}) {
    const std::string whole = golden_bytes(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_NE(parse_error(whole.substr(0, size)), "") << size;
    }
    RandomStream stream(3, "damage");
    int opened = 0;
    for (int round = 0; round < 5000; ++round) {
      std::string bytes = whole;
      for (uint64_t i = 0; i <= stream.below(3); ++i) {
        bytes[stream.below(bytes.size())] = static_cast<char>(stream.below(256));
      }
      try {
        for (const TensorInfo& tensor : parse_torch_file("damaged.bin", bytes).tensors) {
          EXPECT_LE(tensor.offset + tensor.bytes, bytes.size());
          EXPECT_LE(static_cast<size_t>(tensor.size), bytes.size());
        }
        ++opened;
      } catch (const Error&) {
      }
    }
    EXPECT_GT(opened, 0);
  }
}

}  // namespace
}  // namespace simile
