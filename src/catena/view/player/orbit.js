// Small vector algebra, and the eye that orbits around a point.

const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const size_of = (a) => Math.hypot(a[0], a[1], a[2]);
const unit_of = (a) => scaled(a, 1 / (size_of(a) || 1));

// A place and a quaternion (w, x, y, z) as the rows of a 3x4 matrix.
function rows_of(p, at, out, to) {
  const x = p[at], y = p[at + 1], z = p[at + 2], w = p[at + 3], a = p[at + 4], b = p[at + 5], c = p[at + 6];
  out[to] = 1 - 2 * (b * b + c * c); out[to + 1] = 2 * (a * b - w * c); out[to + 2] = 2 * (a * c + w * b); out[to + 3] = x;
  out[to + 4] = 2 * (a * b + w * c); out[to + 5] = 1 - 2 * (a * a + c * c); out[to + 6] = 2 * (b * c - w * a); out[to + 7] = y;
  out[to + 8] = 2 * (a * c - w * b); out[to + 9] = 2 * (b * c + w * a); out[to + 10] = 1 - 2 * (a * a + b * b); out[to + 11] = z;
}

const carried = (rows, body, p) => {
  const k = 12 * body;
  return [0, 4, 8].map((i) => rows[k + i] * p[0] + rows[k + i + 1] * p[1] + rows[k + i + 2] * p[2] + rows[k + i + 3]);
};

// Rows of the map that takes the unit form along the third axis to the stretch from a to b with a radius.
function stretched(a, b, radius) {
  const z = add(b, a, -1), long = size_of(z) || 1e-9, d = scaled(z, 1 / long);
  const other = Math.abs(d[0]) < 0.6 ? [1, 0, 0] : [0, 1, 0], x = scaled(unit_of(cross(other, d)), radius), y = scaled(cross(d, unit_of(x)), radius);
  return [x[0], y[0], z[0], a[0], x[1], y[1], z[1], a[1], x[2], y[2], z[2], a[2]];
}

class Orbit {
  constructor(up, towards, flat) {
    this.up = unit_of(up);
    // For the usual vertical the axes are the coordinate axes, so that angles are those of drawings.
    const k = this.up.findIndex((x) => Math.abs(x) > 0.9);
    this.first = k < 0 ? unit_of(cross(this.up, [0.3, 0.5, 0.8])) : [0, 1, 2].map((i) => (i === (k + 1) % 3 ? 1 : 0));
    this.second = cross(this.up, this.first);
    this.flat = flat; this.fov = 0.5; this.target = [0, 0, 0]; this.distance = 1; this.aspect = 1; this.radius = 1;
    this.start = towards; this.look_from(towards);
  }

  look_from(towards) {
    const t = unit_of(towards), level = Math.hypot(dot(t, this.first), dot(t, this.second));
    this.elevation = Math.atan2(dot(t, this.up), level);
    if (level > 1e-6) this.azimuth = Math.atan2(dot(t, this.second), dot(t, this.first));
    else if (this.azimuth === undefined) this.azimuth = -Math.PI / 2;
  }

  get towards() {
    const c = Math.cos(this.elevation), s = Math.sin(this.elevation), a = this.azimuth;
    return add(add(scaled(this.first, c * Math.cos(a)), this.second, c * Math.sin(a)), this.up, s);
  }

  get right() { return add(scaled(this.first, -Math.sin(this.azimuth)), this.second, Math.cos(this.azimuth)); }

  get above() { return cross(this.towards, this.right); }

  turn(dx, dy) {
    this.azimuth -= dx;
    this.elevation = Math.max(-1.55, Math.min(1.5707, this.elevation + dy));
  }

  pan(dx, dy, high) {
    const size = (2 * this.distance * Math.tan(this.fov / 2)) / high;
    this.target = add(add(this.target, this.right, -dx * size), this.above, dy * size);
  }

  // Everything in the box is seen, with a little room around it.
  fit(low, high) {
    const centre = scaled(add(low, high), 0.5);
    this.radius = Math.max(size_of(add(high, low, -1)) / 2, 1e-6); this.target = centre;
    let wide = 1e-9, tall = 1e-9, deep = 0;
    for (let k = 0; k < 8; k++) {
      const p = add([k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]], centre, -1);
      wide = Math.max(wide, Math.abs(dot(p, this.right))); tall = Math.max(tall, Math.abs(dot(p, this.above))); deep = Math.max(deep, dot(p, this.towards));
    }
    const half = Math.max(tall, wide / this.aspect) * 1.16;
    this.distance = half / Math.tan(this.fov / 2) + (this.flat ? 0 : deep * 0.8);
  }

  get eye() { return add(this.target, this.towards, this.distance); }

  // The matrix (columns first) from ground to clip coordinates.
  matrix() {
    const r = this.right, u = this.above, t = this.towards, eye = this.eye, reach = 6 * this.radius + 1e-9;
    const near = this.flat ? this.distance - reach : Math.max(this.distance - reach, 0.02 * this.distance), far = this.distance + 2 * reach;
    const view = [r[0], u[0], t[0], 0, r[1], u[1], t[1], 0, r[2], u[2], t[2], 0, -dot(r, eye), -dot(u, eye), -dot(t, eye), 1];
    const f = 1 / Math.tan(this.fov / 2);
    let seen;
    if (this.flat) {
      const tall = this.distance / f;
      seen = [1 / (tall * this.aspect), 0, 0, 0, 0, 1 / tall, 0, 0, 0, 0, -2 / (far - near), 0, 0, 0, -(far + near) / (far - near), 1];
    } else seen = [f / this.aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, -(far + near) / (far - near), -1, 0, 0, (-2 * far * near) / (far - near), 0];
    this.near = near; this.far = far;
    const m = new Float32Array(16);
    for (let c = 0; c < 4; c++) for (let i = 0; i < 4; i++) { let x = 0; for (let k = 0; k < 4; k++) x += seen[4 * k + i] * view[4 * c + k]; m[4 * c + i] = x; }
    return m;
  }

  // The point of ground at a place of the picture (-1 to 1) and a depth (0 to 1), or at a distance from the eye.
  point(x, y, depth) {
    const f = Math.tan(this.fov / 2), z = 2 * depth - 1;
    const far = this.flat ? (z * (this.far - this.near) + this.far + this.near) / 2 : (2 * this.far * this.near) / (this.far + this.near - z * (this.far - this.near));
    return this.at_distance(x, y, far);
  }

  at_distance(x, y, far) {
    const tall = Math.tan(this.fov / 2) * (this.flat ? this.distance : far);
    return add(add(add(this.eye, this.right, x * tall * this.aspect), this.above, y * tall), this.towards, -far);
  }

  distance_of(p) { return dot(add(this.eye, p, -1), this.towards); }

  project(m, p) {
    const w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
    return [(m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12]) / w, (m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13]) / w, w];
  }
}
