// SPDX-License-Identifier: Apache-2.0
// Shared by the scripts of this folder: the `tokenizers` library as the reference, texts from
// files, and command lines.
'use strict';
const fs = require('fs');
const path = require('path');

function fail(message) {
  process.stderr.write(message + '\n');
  process.exit(2);
}

function load_library() {
  try {
    return require('tokenizers');
  } catch (error) {
    return fail(
        'The npm package `tokenizers` is missing: run `npm install` in tools/conformance, or set ' +
        'NODE_PATH to a node_modules folder that has it (tried with version 0.23.2).');
  }
}

// The command line as an object; `known` gives the default of each option, true/false for a flag.
function read_options(known) {
  const options = {...known};
  const words = process.argv.slice(2);
  while (words.length > 0) {
    const name = words.shift().replace(/^--/, '');
    if (!(name in known)) fail(`unknown option --${name}; known are ${Object.keys(known).join(', ')}`);
    if (typeof known[name] === 'boolean') {
      options[name] = true;
    } else {
      if (words.length === 0) fail(`option --${name} needs a value`);
      options[name] = words.shift();
    }
  }
  for (const name of Object.keys(known)) {
    if (options[name] === undefined) fail(`option --${name} is required`);
  }
  return options;
}

// Texts as {text} or {text, pair}: lines; .tsv: two columns; .jsonl: objects.
function read_texts(file, limit) {
  let lines = fs.readFileSync(file, 'utf8').split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  if (limit > 0) lines = lines.slice(0, limit);
  if (file.endsWith('.jsonl')) return lines.map((line) => JSON.parse(line));
  if (!file.endsWith('.tsv')) return lines.map((text) => ({text}));
  return lines.map((line) => {
    const [text, pair] = line.split('\t');
    return {text, pair};
  });
}

// The library's tokenizer without the truncation and padding that the file asks for.
function load_reference(model) {
  const {Tokenizer} = load_library();
  const file = fs.statSync(model).isDirectory() ? path.join(model, 'tokenizer.json') : model;
  const json = JSON.parse(fs.readFileSync(file, 'utf8'));
  json.truncation = null;
  json.padding = null;
  return Tokenizer.fromString(JSON.stringify(json));
}

module.exports = {fail, load_reference, read_options, read_texts};
