// SPDX-License-Identifier: Apache-2.0
// Characters of Unicode 15.1 to 17 that ICU 72 (Unicode 15) does not know but that the `tokenizers`
// library does. Measured by asking the library about every code point; a newer ICU needs no tables.
#pragma once

#include <cstdint>

#include "simile/text/unicode.h"

namespace simile::detail {

struct NewerProperties {
  char32_t first;
  char32_t last;
  uint8_t properties;
};

struct NewerLowerCase {
  char32_t first;
  char32_t last;
  int32_t distance;  // from the character to its lower case
};

constexpr uint8_t kMark = kWordCharacter;
constexpr uint8_t kAnyLetter = kWordCharacter | kLetter;
constexpr uint8_t kDigit = kWordCharacter | kNumber;

constexpr NewerProperties kNewerProperties[] = {
    {0x897, 0x897, kMark},          {0x1C89, 0x1C8A, kAnyLetter},   {0xA7CB, 0xA7CD, kAnyLetter},
    {0xA7DA, 0xA7DC, kAnyLetter},   {0x105C0, 0x105F3, kAnyLetter}, {0x10D40, 0x10D49, kDigit},
    {0x10D4A, 0x10D65, kAnyLetter}, {0x10D69, 0x10D6D, kMark},      {0x10D6F, 0x10D85, kAnyLetter},
    {0x10EC2, 0x10EC4, kAnyLetter}, {0x10EFC, 0x10EFC, kMark},      {0x11380, 0x11389, kAnyLetter},
    {0x1138B, 0x1138B, kAnyLetter}, {0x1138E, 0x1138E, kAnyLetter}, {0x11390, 0x113B5, kAnyLetter},
    {0x113B7, 0x113B7, kAnyLetter}, {0x113B8, 0x113C0, kMark},      {0x113C2, 0x113C2, kMark},
    {0x113C5, 0x113C5, kMark},      {0x113C7, 0x113CA, kMark},      {0x113CC, 0x113D0, kMark},
    {0x113D1, 0x113D1, kAnyLetter}, {0x113D2, 0x113D2, kMark},      {0x113D3, 0x113D3, kAnyLetter},
    {0x113E1, 0x113E2, kMark},      {0x116D0, 0x116E3, kDigit},     {0x11BC0, 0x11BE0, kAnyLetter},
    {0x11BF0, 0x11BF9, kDigit},     {0x11DE0, 0x11DE9, kNumber},    {0x11F5A, 0x11F5A, kMark},
    {0x13460, 0x143FA, kAnyLetter}, {0x16100, 0x1611D, kAnyLetter}, {0x1611E, 0x1612F, kMark},
    {0x16130, 0x16139, kDigit},     {0x16D40, 0x16D6C, kAnyLetter}, {0x16D70, 0x16D79, kDigit},
    {0x16FF4, 0x16FF6, kNumber},    {0x18CFF, 0x18CFF, kAnyLetter}, {0x1CCF0, 0x1CCF9, kDigit},
    {0x1E5D0, 0x1E5ED, kAnyLetter}, {0x1E5EE, 0x1E5EF, kMark},      {0x1E5F0, 0x1E5F0, kAnyLetter},
    {0x1E5F1, 0x1E5FA, kDigit},     {0x2EBF0, 0x2EE5D, kAnyLetter},
};

constexpr NewerLowerCase kNewerLowerCase[] = {
    {0x1C89, 0x1C89, 1},    {0xA7CB, 0xA7CB, -42343}, {0xA7CC, 0xA7CC, 1}, {0xA7CE, 0xA7CE, 1},
    {0xA7D2, 0xA7D2, 1},    {0xA7D4, 0xA7D4, 1},      {0xA7DA, 0xA7DA, 1}, {0xA7DC, 0xA7DC, -42561},
    {0x10D50, 0x10D65, 32}, {0x16EA0, 0x16EB8, 27},
};

}  // namespace simile::detail
