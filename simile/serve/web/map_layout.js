// SPDX-License-Identifier: Apache-2.0
// Where documents lie when neighbours are to lie together (UMAP), and a query among them.

const kLeastDocuments = 12;
const kNeighbours = 15;

let worker = null;
let made = null;  // { sample, places } of the last layout

// Whether there are enough of them.
export const canArrange = (documents) => documents >= kLeastDocuments;

// The place of each document of `sample`, which has its neighbours. `tell`: called with the part that is done. What
// was begun before for another sample ends without an answer.
export function arrange(sample, tell) {
  if (made?.sample === sample) return Promise.resolve(made.places);
  worker?.terminate();
  const most = Math.min(kNeighbours, sample.length - 2);
  return new Promise((resolve, reject) => {
    worker = new Worker(new URL("umap_worker.js", import.meta.url));
    worker.onmessage = ({ data }) => {
      if (!data.places) return tell(data.part);
      worker.terminate();
      made = { sample, places: data.places };
      resolve(data.places);
    };
    worker.onerror = (event) => reject(new Error(event.message || "the layout cannot be made"));
    worker.postMessage({
      near: sample.map(({ near }) => near.slice(0, most)),
      distances: sample.map(({ distances }) => distances.slice(0, most)),
      begin: sample.map(({ x, y }) => [x, y]),
    });
  });
}

// The middle of its neighbours, of which near ones count more.
export function placeAmong({ near, distances }, places) {
  if (near.length === 0) return { x: 0, y: 0 };
  const mean = distances.reduce((sum, far) => sum + far, 0) / distances.length;
  const width = Math.max((mean - distances[0]) / 4, 1e-9);
  const weights = distances.map((far) => Math.exp((distances[0] - far) / width));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const middle = (axis) => near.reduce((sum, place, i) => sum + weights[i] * places[place][axis], 0) / all;
  return { x: middle("x"), y: middle("y") };
}
