// SPDX-License-Identifier: Apache-2.0
// Words that tell what parts of the map are about: points that lie together are a group (k-means), whose words are those
// that most of its texts have and few others do.
import { isForm, rareWords } from "./marking.js";

const kLeastPoints = 24;
const kGroups = [4, 28];  // at least, at most
const kRounds = 10;
const kWords = 2;         // of a group
const kLeastTexts = 3;    // that share a word

const far = (a, b) => (a.x - b.x) ** 2 + (a.y - b.y) ** 2;

// The first point, and again and again the one that is furthest from all that were taken: the same ones each time.
function begin(points, count) {
  const taken = [points[0]];
  const least = points.map((point) => far(point, taken[0]));
  while (taken.length < count) {
    const next = least.reduce((best, distance, i) => (distance > least[best] ? i : best), 0);
    taken.push(points[next]);
    points.forEach((point, i) => { least[i] = Math.min(least[i], far(point, points[next])); });
  }
  return taken.map(({ x, y }) => ({ x, y }));
}

const nearest = (point, middles) => middles.reduce((best, middle, i) => (far(point, middle) < far(point, middles[best]) ? i : best), 0);

function group(points) {
  const count = Math.min(kGroups[1], Math.max(kGroups[0], Math.round(0.7 * Math.sqrt(points.length))));
  let middles = begin(points, count);
  let of = [];
  for (let round = 0; round < kRounds; ++round) {
    of = points.map((point) => nearest(point, middles));
    const sums = middles.map(() => ({ x: 0, y: 0, n: 0 }));
    points.forEach(({ x, y }, i) => {
      const sum = sums[of[i]];
      sum.x += x;
      sum.y += y;
      sum.n += 1;
    });
    middles = sums.map(({ x, y, n }, i) => (n > 0 ? { x: x / n, y: y / n } : middles[i]));
  }
  return { of, middles };
}

function countWords(texts) {
  const counts = new Map();
  for (const words of texts) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

// { x, y, words } of each group, the largest first; words that two have stand at the larger one.
export function topicsOf(points) {
  if (points.length < kLeastPoints) return [];
  const texts = points.map(({ text }) => rareWords(text));
  const all = countWords(texts);
  const { of, middles } = group(points);
  return middles.map(({ x, y }, i) => {
    const mine = texts.filter((_, at) => of[at] === i);
    const scored = [...countWords(mine)].filter(([, count]) => count >= kLeastTexts)
      .map(([word, count]) => [word, count / mine.length * Math.log(points.length / all.get(word))]).sort((a, b) => b[1] - a[1]);
    const words = [];
    for (const [word] of scored) if (words.length < kWords && !words.some((other) => isForm(word, other))) words.push(word);
    return { x, y, words: words.join(", "), size: mine.length };
  }).sort((a, b) => b.size - a.size)
    .filter(({ words }, i, topics) => words !== "" && topics.findIndex((other) => other.words === words) === i);
}
