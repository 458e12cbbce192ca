// SPDX-License-Identifier: Apache-2.0
// How similar texts are: vectors from the server, their cosines here.
import { ask } from "./http.js";

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

// Cosines [texts][texts], and what ask() tells of the time. `most`: texts of one request.
export async function similarities(texts, most, signal) {
  const vectors = [];
  let ms = 0;
  for (let i = 0; i < texts.length; i += most) {
    const reply = await ask("embed", { inputs: texts.slice(i, i + most), normalize: true }, signal);
    vectors.push(...reply.answer);
    ms += reply.ms;
  }
  return { cosines: vectors.map((a) => vectors.map((b) => dot(a, b))), ms };
}
