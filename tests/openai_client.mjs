// SPDX-License-Identifier: Apache-2.0
// Drives /v1/embeddings with OpenAI's own client: openai_client.mjs PORT EXPECTED.jsonl, which has a text and its
// vector in each line.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.env.OPENAI_CLIENT + "/");
const { default: OpenAI } = require("openai");
const [port, expectedPath] = process.argv.slice(2);
const client = new OpenAI({ apiKey: "sesame", baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 });
const rows = readFileSync(expectedPath, "utf8").trim().split("\n").map((line) => JSON.parse(line));

function expect(condition, what) {
  if (!condition) {
    console.error(`openai_client.mjs: ${what}`);
    process.exit(1);
  }
}

const same = (a, b) => a.length === b.length && a.every((x, i) => Math.fround(x) === Math.fround(b[i]));

async function refusal(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return {};
}

// Its own default, which asks for base64 and decodes it, and each form by name.
for (const encoding_format of [undefined, "float", "base64"]) {
  const reply = await client.embeddings.create({
    model: "tiny", input: rows.map((row) => row.text), ...(encoding_format && { encoding_format }),
  });
  expect(reply.object === "list" && reply.data.length === rows.length, "a list of all vectors");
  expect(reply.model === "tiny" && reply.usage.total_tokens > rows.length, "model and usage");
  rows.forEach((row, i) => {
    let vector = reply.data[i].embedding;
    if (typeof vector === "string") {
      const bytes = Buffer.from(vector, "base64");
      vector = Array.from(new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4));
    }
    expect(reply.data[i].index === i && same(vector, row.embedding), `vector ${i} as ${encoding_format}`);
  });
}
const short = await client.embeddings.create({ model: "tiny", input: rows[0].text, dimensions: 8 });
expect(short.data[0].embedding.length === 8, "dimensions");
const models = await client.models.list();
expect(models.data[0].id === "tiny", "models.list()");
expect((await client.models.retrieve("tiny")).id === "tiny", "models.retrieve()");

// As many as OpenAI's API takes, more than are computed at a time.
const kMany = 2048;
const many = await client.embeddings.create({
  model: "tiny", input: Array.from({ length: kMany }, (_, i) => rows[i % rows.length].text) });
expect(many.data.length === kMany, "a vector for each of many texts");
many.data.forEach(({ embedding }, i) => expect(same(embedding, rows[i % rows.length].embedding), `vector ${i} of many`));

const other = await client.embeddings.create({ model: "text-embedding-9", input: "a" });
expect(other.model === "tiny", "another model's name is answered by the one that is served");
const unknown = await refusal(() => client.models.retrieve("text-embedding-9"));
expect(unknown instanceof OpenAI.NotFoundError && unknown.code === "model_not_found", "404 for an unknown model");
const empty = await refusal(() => client.embeddings.create({ model: "tiny", input: "" }));
expect(empty instanceof OpenAI.BadRequestError && empty.param === "input", "400 for an empty text");
const stranger = new OpenAI({ apiKey: "wrong", baseURL: client.baseURL, maxRetries: 0 });
const refused = await refusal(() => stranger.embeddings.create({ model: "tiny", input: "a" }));
expect(refused instanceof OpenAI.AuthenticationError && refused.code === "invalid_api_key", "401 for a wrong key");
console.log("the official client got the right vectors and errors");
