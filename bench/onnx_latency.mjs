// SPDX-License-Identifier: Apache-2.0
// Latency of ONNX Runtime on single sequences: median and 99th percentile in ms, as JSON on stdout.
// usage, in a folder with the workloads and node_modules:
//   node onnx_latency.mjs MODEL.onnx REFERENCE.json short|long CALLS THREADS LARGEST_DIFFERENCE
import fs from 'fs';
import {createRequire} from 'module';
const ort = createRequire(import.meta.url)('onnxruntime-node');

const WARM_UP = 50;
const [file, reference, distribution, calls, threads, tolerance] = process.argv.slice(2);
const session = await ort.InferenceSession.create(file, {
  executionProviders: ['cpu'], intraOpNumThreads: +threads, interOpNumThreads: 1,
  graphOptimizationLevel: 'all', executionMode: 'sequential'});

const run = (ids, mask, shape) => session.run({
  input_ids: new ort.Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
  attention_mask: new ort.Tensor('int64', BigInt64Array.from(mask, BigInt), shape)});

const expected = JSON.parse(fs.readFileSync(reference));
const found = (await run(expected.ids, expected.mask, expected.shape)).emb.data;
const difference = Math.max(...expected.emb.map((x, i) => Math.abs(x - found[i])));
if (!(difference <= +tolerance)) {
  console.error(`onnx_latency.mjs: vectors differ from torch's by ${difference}`);
  process.exit(1);
}

const lengths = fs.readFileSync(`len_${distribution}.txt`, 'utf8').split('\n').filter(x => x).map(Number);
const raw = fs.readFileSync(`ids_${distribution}.bin`);
const all = new Int32Array(raw.buffer, raw.byteOffset, raw.length / 4);
const sequences = [];
for (let i = 0, at = 0; i < Math.max(+calls, WARM_UP); at += lengths[i++]) {
  sequences.push(all.subarray(at, at + lengths[i]));
}

const milliseconds = [];
for (let i = -WARM_UP; i < +calls; ++i) {
  const ids = sequences[i < 0 ? i + WARM_UP : i];
  const start = performance.now();
  await run(ids, new Int32Array(ids.length).fill(1), [1, ids.length]);
  if (i >= 0) milliseconds.push(performance.now() - start);
}
milliseconds.sort((a, b) => a - b);
const middle = milliseconds.length / 2;
console.log(JSON.stringify({
  calls: +calls, difference_from_torch: difference,
  milliseconds_median: (milliseconds[Math.ceil(middle) - 1] + milliseconds[Math.floor(middle)]) / 2,
  milliseconds_p99: milliseconds[Math.floor(0.99 * (calls - 1))]}));
