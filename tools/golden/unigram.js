// SPDX-License-Identifier: Apache-2.0
// Ids and offsets (in code points) of tiny Unigram tokenizers, by Hugging Face's `tokenizers`.
//
//   npm install --prefix /tmp/tokenizers tokenizers@0.23.2
//   NODE_PATH=/tmp/tokenizers/node_modules node tools/golden/unigram.js > tests/golden/tokenizers/unigram.json
const fs = require('fs');
const os = require('os');
const path = require('path');
const {Tokenizer} = require('tokenizers');

const golden = path.join(__dirname, '..', '..', 'tests', 'golden', 'tokenizers');
const table = fs.readFileSync(path.join(golden, 'character_table.txt'), 'utf8').trim();

const bytes = (from, to) => Array.from({length: to - from}, (_, i) =>
    ['<0x' + (from + i).toString(16).toUpperCase().padStart(2, '0') + '>', 0]);
const words = [['▁', -2], ['a', -3], ['b', -3.5], ['ab', -4], ['▁a', -3.25], ['▁ab', -5], ['fi', -4.5],
  ['é', -4.75], ['i', -6], ['Ω', -6], ['A', -6.25], ['aba', -7.5], ['bab', -7.5], ['<s>', 0]];
const precompiled = {type: 'Precompiled', precompiled_charsmap: table};
const metaspace = (scheme, split) => ({type: 'Metaspace', replacement: '▁', prepend_scheme: scheme, split});
const unigram = (vocab, byteFallback) => ({type: 'Unigram', unk_id: 0, byte_fallback: byteFallback, vocab});
const added = id => [{id, content: '<s>', single_word: false, lstrip: false, rstrip: false,
  normalized: false, special: true}];
const whole = (normalizer, preTokenizer, model) => ({version: '1.0', truncation: null, padding: null,
  added_tokens: added(model.vocab.length - 1), normalizer, pre_tokenizer: preTokenizer,
  post_processor: null, decoder: null, model});

const unknown = [['<unk>', 0]];
const tokenizers = {
  plain: whole(precompiled, metaspace('always', true), unigram([...unknown, ...words], false)),
  bytes: whole(precompiled, metaspace('always', true), unigram([...unknown, ...bytes(0, 256), ...words], true)),
  some_bytes: whole(precompiled, metaspace('always', true),
      unigram([...unknown, ...bytes(0x00, 0xD0), ...words], true)),
  first_unsplit: whole(null, metaspace('first', false), unigram([...unknown, ...words], false)),
  never: whole(null, metaspace('never', true), unigram([...unknown, ...words], false)),
  legacy: whole(null, {type: 'Metaspace', replacement: '_', add_prefix_space: true},
      unigram([...unknown, ['_', -1], ['_x', -1.5], ...words], false)),
  // Positive scores make unknown characters win; "xy" and "a" occur twice; "ab" and "a" + "b" are equal.
  odd: whole(null, null, unigram([...unknown, ['xy', 50], ['xy', -40], ['a', 30], ['a', 20], ['b', 22],
    ['ab', 42], ['ba', 42], ['', 5], ['xyz', 1], ['<s>', 0]], false)),
};

// Equal sums but for the last bit, which depends on how scores of 17 digits are read.
tokenizers.close = whole(null, metaspace('always', true), unigram([...unknown, ['▁q', -10.899060249328613], ['9', -9.327763557434082], ['99', -10.365640640258789], ...words], false));

const texts = ['', ' ', 'a', 'ab', ' ab', 'ab ', 'a b', 'a  b', 'abab', 'babab', 'ababababab', 'a\tb', '\tab',
  'ﬁ', 'aﬁb', 'ﬁﬁ', 'cafe\u0301', 'e\u0301\u0301', 'é', 'Ａａ', 'ａ\u0301b', 'Ａ\u0301\u0301b', '\u200bab', 'a\u200bb',
  'ﬁ\u200bb', 'ﬁ\u200b\u200b b', '\u200b\u200b', 'Ω a', 'xyz', 'a xyz b', 'x', 'xy', 'xyxy', 'axyb', '中文', 'a中b',
  '😀', '👍🏽ab', 'a😀\u0301b', '▁', '▁a', 'a▁b', 'a ▁ b', '▁▁', '__x _x', '_', '<s>', 'a<s>b', '<s> ab', 'ab<s>ab',
  '<unk>', 'a<unk>b', '<0xE4>', 'a\u3000b', '\r\nab', 'a\0b', 'Ａ\u200d', 'ａ\u0903', 'क्\u0958', 'q999', '999', '9999 q99999', 'ab'.repeat(40)];

const result = {};
for (const [name, document] of Object.entries(tokenizers)) result[name] = {tokenizer: document, cases: []};
(async () => {
  for (const name of Object.keys(result)) {
    const file = path.join(os.tmpdir(), `unigram_${process.pid}.json`);
    fs.writeFileSync(file, JSON.stringify(result[name].tokenizer));
    const tokenizer = Tokenizer.fromFile(file);
    fs.unlinkSync(file);
    for (const text of texts) {
      const encoding = await tokenizer.encode(text);
      result[name].cases.push({text, ids: encoding.getIds(), offsets: encoding.getOffsets()});
    }
  }
  const rows = Object.entries(result).map(([name, {tokenizer, cases}]) =>
      `${JSON.stringify(name)}: {"tokenizer": ${JSON.stringify(tokenizer)},\n"cases": [\n` +
      cases.map(row => JSON.stringify(row)).join(',\n') + ']}');
  console.log('{' + rows.join(',\n') + '}');
})();
