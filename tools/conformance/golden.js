// SPDX-License-Identifier: Apache-2.0
// Writes tests/golden/tokenizers/components.json: small tokenizers and what the `tokenizers` library
// makes of a few texts. See README.md.
'use strict';
const fs = require('fs');
const path = require('path');
const {load_reference, read_options, read_texts} = require('./library.js');

const options = read_options({tokenizers: undefined, texts: undefined, output: undefined});

async function encode(reference, item) {
  const encoding = await reference.encode(item.text, item.pair === undefined ? null : item.pair);
  const result = {ids: encoding.getIds(), offsets: encoding.getOffsets().flat()};
  if (item.pair !== undefined) result.type_ids = encoding.getTypeIds();
  return result;
}

async function main() {
  const texts = read_texts(options.texts, 0);
  const models = [];  // each once, as many tokenizers share theirs
  const tokenizers = [];
  for (const file of fs.readdirSync(options.tokenizers).sort()) {
    const model_path = path.join(options.tokenizers, file);
    const document = JSON.parse(fs.readFileSync(model_path, 'utf8'));
    const model = JSON.stringify(document.model);
    if (!models.includes(model)) models.push(model);
    document.model = models.indexOf(model);
    document.added_tokens = document.added_tokens.map(
        (token) => Object.fromEntries(Object.entries(token).filter(([, value]) => value !== false)));
    const reference = load_reference(model_path);
    const results = [];
    for (const item of texts) results.push(await encode(reference, item));
    tokenizers.push({name: path.basename(file, '.json'), document, results});
  }
  const lines = (list) => list.map((item) => JSON.stringify(item)).join(',\n');
  fs.writeFileSync(
      options.output,
      `{"texts":[\n${lines(texts)}\n],\n"models":[\n${models.join(',\n')}\n],\n"tokenizers":[\n${
          lines(tokenizers)}\n]}\n`);
}

main();
