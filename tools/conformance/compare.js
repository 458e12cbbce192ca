// SPDX-License-Identifier: Apache-2.0
// Compares `simile tokenize` with the `tokenizers` library, text by text: ids, token types and
// offsets. Exits 1 when any differ. See README.md.
'use strict';
const {spawn} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const readline = require('readline');
const {fail, load_reference, read_options, read_texts} = require('./library.js');

const options = read_options({
  simile: 'simile',
  model: undefined,
  input: undefined,
  limit: '0',
  show: '5',
  'no-special-tokens': false,
  'max-length': '0',
  truncation: 'longest_first',
  'truncation-side': 'right',
});

const STRATEGIES = {
  longest_first: 'LongestFirst',
  only_first: 'OnlyFirst',
  only_second: 'OnlySecond',
};

// For each byte of UTF-8 `text`, and its end, the number of characters that begin before it.
function characters_by_byte(text) {
  const counts = [];
  let count = 0;
  for (const character of text) {
    const size = Buffer.byteLength(character);
    counts.push(count++);
    for (let i = 1; i < size; ++i) counts.push(count);
  }
  counts.push(count);
  return counts;
}

function write_texts(texts) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-'));
  const file = path.join(folder, 'texts.jsonl');
  fs.writeFileSync(file, texts.map((item) => JSON.stringify(item) + '\n').join(''));
  return {folder, file};
}

function start_simile(file) {
  const words = ['tokenize', '--model', options.model, '--input', file, '--character-offsets'];
  if (options['no-special-tokens']) words.push('--no-special-tokens');
  for (const name of ['max-length', 'truncation', 'truncation-side']) {
    words.push('--' + name, options[name]);
  }
  const child = spawn(options.simile, words, {stdio: ['ignore', 'pipe', 'inherit']});
  child.on('error', (error) => fail(`${options.simile}: ${error.message}`));
  const ended = new Promise((resolve) => child.on('close', resolve));
  return {lines: readline.createInterface({input: child.stdout}), ended};
}

// The kinds of difference between a line of Simile's and the library's encoding.
function differences(item, ours, theirs) {
  const kinds = [];
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  if (!same(ours.ids, theirs.getIds())) return ['ids'];
  if (!same(ours.type_ids, theirs.getTypeIds())) kinds.push('type ids');
  const offsets = theirs.getOffsets();
  if (!same(ours.character_offsets, offsets)) kinds.push('offsets in characters');
  const counts = [characters_by_byte(item.text), characters_by_byte(item.pair || '')];
  const sequences = theirs.getSequenceIds();
  const converted = ours.offsets.map(([begin, end], i) => {
    const characters = counts[sequences[i] === 1 ? 1 : 0];
    return [characters[begin], characters[end]];
  });
  if (!same(converted, offsets)) kinds.push('offsets in bytes');
  return kinds;
}

function report(number, item, kinds, ours, theirs) {
  console.log(`${number}: ${kinds.join(', ')}: ${JSON.stringify(item).slice(0, 200)}`);
  const shorten = (value) => JSON.stringify(value).slice(0, 200);
  const ids = kinds.includes('ids') || kinds.includes('type ids');
  console.log(`  simile:  ${shorten(ids ? ours.tokens : ours.character_offsets)}`);
  console.log(`  library: ${shorten(ids ? theirs.getTokens() : theirs.getOffsets())}`);
}

async function main() {
  const reference = load_reference(options.model);
  if (Number(options['max-length']) > 0) {
    reference.setTruncation(
        Number(options['max-length']),
        {strategy: STRATEGIES[options.truncation], direction: options['truncation-side']});
  }
  const texts = read_texts(options.input, Number(options.limit));
  const {folder, file} = write_texts(texts);
  const counts = {};
  let number = 0;
  let different = 0;
  const {lines, ended} = start_simile(file);
  for await (const line of lines) {
    const item = texts[number++];
    const ours = JSON.parse(line);
    const theirs = await reference.encode(
        item.text, item.pair === undefined ? null : item.pair,
        {addSpecialTokens: !options['no-special-tokens']});
    const kinds = differences(item, ours, theirs);
    for (const kind of kinds) counts[kind] = (counts[kind] || 0) + 1;
    if (kinds.length === 0) continue;
    if (different++ < Number(options.show)) report(number, item, kinds, ours, theirs);
  }
  const code = await ended;
  fs.rmSync(folder, {recursive: true});
  if (code !== 0) fail(`${options.simile} ended with exit code ${code}`);
  if (number !== texts.length) fail(`${texts.length} texts, but ${number} lines from simile`);
  const kinds = Object.entries(counts).map(([kind, count]) => `, ${count} in ${kind}`);
  console.log(`${options.model}: ${number} texts compared, ${different} differ${kinds.join('')}`);
  process.exit(different > 0 ? 1 : 0);
}

main().catch((error) => fail(String(error)));
