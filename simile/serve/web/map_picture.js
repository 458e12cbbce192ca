// SPDX-License-Identifier: Apache-2.0
// The picture of the map: which part of the plane is seen, and documents as dots in it, hits as numbered ones, the query
// as a diamond.

const kMostZoom = 60;
const kMargin = 28;      // pixels around what is seen at zoom 1
const kLeastSize = 0.1;  // of the plane, so that equal points can be shown

const clamp = (value, least, most) => Math.min(most, Math.max(least, value));

// Where points of the plane lie on the screen.
export class Camera {
  constructor() {
    Object.assign(this, { x: 0, y: 0, zoom: 1, width: 1, height: 1, middle: { x: 0, y: 0 }, size: { x: 2, y: 2 } });
  }

  // Pixels of 1 in the plane.
  get unit() {
    return this.zoom * Math.min(Math.max(1, this.width - 2 * kMargin) / this.size.x,
      Math.max(1, this.height - 2 * kMargin) / this.size.y);
  }

  // Zoom 1 shows all points.
  frame(points) {
    const range = (axis) => points.reduce(([least, most], point) =>
      [Math.min(least, point[axis]), Math.max(most, point[axis])], [Infinity, -Infinity]);
    for (const axis of ["x", "y"]) {
      const [least, most] = points.length > 0 ? range(axis) : [-1, 1];
      this.middle[axis] = (least + most) / 2;
      this.size[axis] = Math.max(kLeastSize, most - least);
    }
  }

  toScreen(point) {
    return [(point.x - this.x) * this.unit + this.width / 2, this.height / 2 - (point.y - this.y) * this.unit];
  }

  // Moves by pixels; something is always seen.
  pan(right, down) {
    this.x = clamp(this.x - right / this.unit, this.middle.x - this.size.x / 2, this.middle.x + this.size.x / 2);
    this.y = clamp(this.y + down / this.unit, this.middle.y - this.size.y / 2, this.middle.y + this.size.y / 2);
  }

  // The point at these pixels stays there.
  zoomAt(factor, left, top) {
    const [right, down] = [left - this.width / 2, top - this.height / 2];
    const before = this.unit;
    this.zoom = clamp(this.zoom * factor, 1, kMostZoom);
    const kept = 1 / before - 1 / this.unit;
    this.x += right * kept;
    this.y -= down * kept;
    this.pan(0, 0);
  }

  get place() { return { x: this.x, y: this.y, zoom: this.zoom }; }
  get whole() { return { ...this.middle, zoom: 1 }; }
}

const kDot = 3, kColouredDot = 3.8, kHit = 9.5, kQuery = 8;  // pixels
const kMany = 4000;      // points, from which on they are small squares
const kAside = 0.15;     // how much is seen of points that are not wanted

function colours(canvas) {
  const style = getComputedStyle(canvas);
  return Object.fromEntries(["ink", "muted", "accent", "on-accent", "surface", "warn"].map((name) =>
    [name, style.getPropertyValue(`--${name}`).trim()]));
}

function dot(pen, [x, y], radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
}

function drawHit(pen, at, rank, colour, ring = colour.surface) {
  dot(pen, at, kHit);
  pen.fillStyle = colour.accent;
  pen.fill();
  pen.strokeStyle = ring;
  pen.lineWidth = 2;
  pen.stroke();
  pen.fillStyle = colour["on-accent"];
  pen.fillText(rank, at[0], at[1] + 0.5);
}

function drawQuery(pen, [x, y], colour) {
  pen.beginPath();
  for (const [right, down] of [[0, -1], [1, 0], [0, 1], [-1, 0]]) pen.lineTo(x + right * kQuery, y + down * kQuery);
  pen.closePath();
  pen.fillStyle = colour.warn;
  pen.fill();
  pen.strokeStyle = colour.surface;
  pen.lineWidth = 2;
  pen.stroke();
}

// The words of groups, where they do not cover those of larger ones.
function drawTopics(pen, camera, topics, colour) {
  const taken = [];
  Object.assign(pen, { lineJoin: "round", lineWidth: 4, strokeStyle: colour.surface, fillStyle: colour.ink });
  for (const topic of topics) {
    const [x, y] = camera.toScreen(topic);
    const half = pen.measureText(topic.words).width / 2 + 4;
    const at = Math.min(camera.width - half, Math.max(half, x));
    if (Math.abs(at - x) > half || y < 8 || y > camera.height - 8) continue;
    if (taken.some((other) => Math.abs(other.at - at) < other.half + half && Math.abs(other.y - y) < 16)) continue;
    taken.push({ at, y, half });
    pen.strokeText(topic.words, at, y);
    pen.fillText(topic.words, at, y);
  }
}

// `points`: with a rank where they are hits. `ringed`: the set of those that get a ring. `colourOf`: of a document,
// where they are not all alike.
export function drawMap(canvas, camera, points, query, ringed, colourOf, topics) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(camera.width * ratio);
  canvas.height = Math.round(camera.height * ratio);
  const pen = canvas.getContext("2d");
  const colour = colours(canvas);
  pen.scale(ratio, ratio);
  Object.assign(pen, { textAlign: "center", textBaseline: "middle", font: `600 11px ${getComputedStyle(canvas).fontFamily}` });
  pen.fillStyle = colour.muted;
  const many = points.length > kMany;
  const radius = (colourOf ? kColouredDot : kDot) * Math.min(2, camera.zoom ** 0.25) * (many ? 0.5 : 1);
  for (const point of points) {
    if (point.rank) continue;
    const own = colourOf?.(point);
    pen.globalAlpha = own === null ? kAside : colourOf ? 0.85 : 0.6;
    if (own) pen.fillStyle = own;
    else if (colourOf) pen.fillStyle = colour.muted;
    const at = camera.toScreen(point);
    if (many) {
      pen.fillRect(at[0] - radius, at[1] - radius, 2 * radius, 2 * radius);
      continue;
    }
    dot(pen, at, radius);
    pen.fill();
  }
  pen.globalAlpha = 1;
  drawTopics(pen, camera, topics, colour);
  const hits = points.filter((point) => point.rank).sort((a, b) => b.rank - a.rank);  // the best above the others
  for (const hit of hits) drawHit(pen, camera.toScreen(hit), hit.rank, colour, colourOf?.(hit) ?? undefined);
  if (query) drawQuery(pen, camera.toScreen(query), colour);
  for (const point of ringed) {
    const at = camera.toScreen(point);
    if (point.rank) drawHit(pen, at, point.rank, colour);
    dot(pen, at, point.rank ? kHit + 3 : radius + 4);
    pen.strokeStyle = colour.ink;
    pen.stroke();
  }
}
