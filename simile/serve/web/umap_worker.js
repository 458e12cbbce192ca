// SPDX-License-Identifier: Apache-2.0
// Places documents near their neighbours, by umap-js, in a worker so that the page stays responsive. Takes
// { near, distances, begin }: for each document its neighbours, nearest first, their distances, and its first place.
// Posts the finished { part }, and { places }. The same input gives the same places.
importScripts("vendor/umap-js-1.4.0.min.js");

const kEpochs = 400, kFewEpochs = 150;
const kMany = 5000;  // documents, of which few epochs take long enough
const kTold = 20;    // epochs between two messages
const kSpread = 10;  // of the beginning, as UMAP's own

// Numbers from 0 to 1 in the order that the seed decides (mulberry32).
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Around 0, the furthest at distance 1.
function scaled(places) {
  const middle = [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
  const moved = places.map((place) => place.map((x, axis) => x - middle[axis]));
  const furthest = Math.max(...moved.map(([x, y]) => Math.hypot(x, y))) || 1;
  return moved.map(([x, y]) => ({ x: x / furthest, y: y / furthest }));
}

onmessage = ({ data: { near, distances, begin } }) => {
  const epochs = near.length > kMany ? kFewEpochs : kEpochs;
  const umap = new UMAP.UMAP({ nNeighbors: near[0].length + 1, nEpochs: epochs, random: randomNumbers(1) });
  // Each is its own nearest neighbour.
  umap.setPrecomputedKNN(near.map((places, i) => [i, ...places]), distances.map((far) => [0, ...far]));
  umap.initializeFit(begin);
  umap.getEmbedding().forEach((place, i) => {
    place[0] = begin[i][0] * kSpread;
    place[1] = begin[i][1] * kSpread;
  });
  for (let epoch = 1; epoch <= epochs; ++epoch) {
    umap.step();
    if (epoch % kTold === 0) postMessage({ part: epoch / epochs });
  }
  postMessage({ places: scaled(umap.getEmbedding()) });
};
