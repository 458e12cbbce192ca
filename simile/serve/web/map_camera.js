// SPDX-License-Identifier: Apache-2.0
// Which part of the plane is seen, and where its points lie on the screen.

const kMostZoom = 60;
const kMargin = 28;      // pixels around what is seen at zoom 1
const kLeastSize = 0.1;  // of the plane, so that equal points can be shown

const clamp = (value, least, most) => Math.min(most, Math.max(least, value));

export class Camera {
  constructor() {
    Object.assign(this, { x: 0, y: 0, zoom: 1, width: 1, height: 1, middle: { x: 0, y: 0 }, size: { x: 2, y: 2 } });
  }

  // Pixels of 1 in the plane.
  get unit() {
    return this.zoom * Math.min(Math.max(1, this.width - 2 * kMargin) / this.size.x,
      Math.max(1, this.height - 2 * kMargin) / this.size.y);
  }

  // What zoom 1 shows: all points.
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

  // What lies at these pixels stays there.
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
