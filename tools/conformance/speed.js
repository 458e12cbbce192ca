// SPDX-License-Identifier: Apache-2.0
// Characters a second of Simile (simile_tokenizer_bench) and of the `tokenizers` library, one thread
// each, in one run, after a check that both give the same ids. See README.md.
'use strict';
process.env.RAYON_NUM_THREADS = '1';
process.env.TOKENIZERS_PARALLELISM = 'false';
const {execFileSync} = require('child_process');
const path = require('path');
const {fail, load_reference, read_options, read_texts} = require('./library.js');

const options = read_options({
  bench: 'simile_tokenizer_bench',
  models: undefined,  // separated by commas
  input: undefined,
  limit: '20000',
  repeat: '3',
});

const run_bench = (model, extra) => JSON.parse(execFileSync(
    options.bench,
    ['--model', model, '--input', options.input, '--limit', options.limit, ...extra],
    {maxBuffer: 1 << 30}));

async function measure(model, texts, characters) {
  const reference = load_reference(model);
  const ids = run_bench(model, ['--ids', '1']).ids;
  const expected = await reference.encodeBatch(texts);
  for (let i = 0; i < texts.length; ++i) {
    if (JSON.stringify(ids[i]) !== JSON.stringify(expected[i].getIds())) {
      fail(`${model}: text ${i + 1} has other ids: nothing is measured`);
    }
  }
  let library = 0;
  let simile = {encode: 0, encode_ids: 0};
  for (let i = 0; i < Number(options.repeat); ++i) {
    const start = process.hrtime.bigint();
    await reference.encodeBatch(texts);
    library = Math.max(library, characters / (Number(process.hrtime.bigint() - start) / 1e9));
    const round = run_bench(model, ['--repeat', '1']);
    simile.encode = Math.max(simile.encode, round.encode);
    simile.encode_ids = Math.max(simile.encode_ids, round.encode_ids);
  }
  return {library, ...simile};
}

async function main() {
  const texts = read_texts(options.input, Number(options.limit)).map((item) => item.text);
  const characters = texts.reduce((sum, text) => sum + [...text].length, 0);
  const millions = (value) => (value / 1e6).toFixed(2);
  console.log(`${texts.length} texts, ${characters} characters; millions of characters a second`);
  console.log('| tokenizer | library | encode | ratio | encode_ids | ratio |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const model of options.models.split(',')) {
    const row = await measure(model, texts, characters);
    const ratio = (value) => (value / row.library).toFixed(1);
    console.log(`| ${path.basename(model)} | ${millions(row.library)} | ${millions(row.encode)} | ${
        ratio(row.encode)} | ${millions(row.encode_ids)} | ${ratio(row.encode_ids)} |`);
  }
}

main().catch((error) => fail(String(error)));
