// Features of what is seen: ends and axes of cylinders, centres of balls, faces, edges and corners of boxes, places of
// meshes and of the floor. A feature is { body, p, z, words } with a point and a direction in the frame of the body.

const NEAR_EDGE = 0.36; // parts of an edge of a box from its middle, beyond which the edge is meant and not the face

const decode = (text, Kind) => { const raw = atob(text), bytes = new Uint8Array(raw.length); for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k); return new Kind(bytes.buffer); };
const sub = (a, b) => a.map((x, i) => x - b[i]), dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2], cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const l = Math.hypot(...a) || 1; return a.map((x) => x / l); };
const through = (m, u) => [0, 4, 8].map((i) => m[i] * u[0] + m[i + 1] * u[1] + m[i + 2] * u[2] + m[i + 3]), turned = (m, u) => [0, 4, 8].map((i) => m[i] * u[0] + m[i + 1] * u[1] + m[i + 2] * u[2]);

// Into the frame that has these rows (rigid), and out of it.
export const into = (rows, body, p) => { const k = 12 * body, d = [0, 1, 2].map((i) => p[i] - rows[k + 4 * i + 3]); return [0, 1, 2].map((j) => rows[k + j] * d[0] + rows[k + 4 + j] * d[1] + rows[k + 8 + j] * d[2]); };
export const out_of = (rows, body, p) => through(rows.subarray(12 * body, 12 * body + 12), p);
export const direction_of = (rows, body, z) => turned(rows.subarray(12 * body, 12 * body + 12), z);

// The unit form before a map of columns at right angles.
function before(m, p) {
  const d = [p[0] - m[3], p[1] - m[7], p[2] - m[11]];
  return [0, 1, 2].map((j) => { const c = [m[j], m[4 + j], m[8 + j]]; return dot(c, d) / (dot(c, c) || 1); });
}

const FORMS = {
  cylinder(u) {
    const r = Math.hypot(u[0], u[1]), end = u[2] < 0.5 ? 0 : 1, off = Math.min(Math.abs(u[2]), Math.abs(u[2] - 1));
    const far = Math.max(Math.abs(r - 1) * (off < 0.02 ? 0 : 1), off * (r < 0.97 ? 1 : 0)), near = off < 0.28 || r < 0.97;
    return { far, at: [0, 0, near ? end : 0.5], z: [0, 0, 1], words: near ? "end of the axis" : "middle of the axis" };
  },
  ball(u) { return { far: Math.abs(Math.hypot(...u) - 1), at: [0, 0, 0], z: [0, 0, 1], words: "centre" }; },
  box(u) {
    const size = u.map(Math.abs), face = size.indexOf(Math.max(...size)), others = [0, 1, 2].filter((k) => k !== face), sides = others.filter((k) => size[k] > NEAR_EDGE);
    const at = [0, 0, 0], z = [0, 0, 0]; at[face] = Math.sign(u[face]) * 0.5; for (const k of sides) at[k] = Math.sign(u[k]) * 0.5;
    if (sides.length === 1) z[others.find((k) => k !== sides[0])] = 1; else z[face] = Math.sign(u[face]);
    return { far: Math.abs(size[face] - 0.5), at, z, words: ["middle of a face", "middle of an edge", "corner"][sides.length] };
  },
};

// The feature of a part next to a point of its carrier's frame.
function snapped(scene, part, p) {
  let best = null;
  for (const [form, source] of Object.entries(scene.forms)) {
    const parts = decode(source.part, Uint16Array), maps = decode(source.map, Float32Array);
    parts.forEach((owner, k) => {
      if (owner !== part) return;
      const m = maps.subarray(12 * k, 12 * k + 12), found = FORMS[form](before(m, p)); if (!best || found.far < best.far) best = { far: found.far, at: through(m, found.at), z: unit(turned(m, found.z)), words: found.words };
    });
  }
  for (const mesh of scene.meshes) decode(mesh.part, Uint16Array).forEach((owner, k) => {
    if (owner !== part) return;
    const m = decode(mesh.map, Float32Array).subarray(12 * k, 12 * k + 12), corners = decode(mesh.corners, Float32Array), faces = decode(mesh.faces, mesh.wide ? Uint32Array : Uint16Array), at = (i) => through(m, [corners[3 * i], corners[3 * i + 1], corners[3 * i + 2]]);
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [at(faces[f]), at(faces[f + 1]), at(faces[f + 2])], n = cross(sub(b, a), sub(c, a)), area = Math.hypot(...n); if (!area) continue;
      const d = sub(p, a), high = Math.abs(dot(d, n)) / area, w = [cross(sub(b, a), d), cross(sub(c, b), sub(p, b)), cross(sub(a, c), sub(p, c))].map((x) => dot(x, n) / area ** 2), out = Math.max(0, -Math.min(...w)) * Math.sqrt(area), far = high + out;
      if (best && far / Math.sqrt(area) >= best.far) continue;
      const ends = [a, b, c], corner = ends.find((e) => Math.hypot(...sub(e, p)) < 0.12 * Math.sqrt(area)); best = { far: far / Math.sqrt(area), at: corner || p, z: unit(n), words: corner ? "corner" : "place on a face" };
    }
  });
  return best;
}

// The feature under a place of the picture [x, y, width, height]; where nothing is, that of the floor, on a grid.
export function feature_at(player, at, step) {
  const found = player.under(at), { eye } = player;
  if (found) {
    const local = into(player.rows, found.carrier, found.point), snap = snapped(found.scene, found.part, local) || { at: local, z: [0, 0, 1], words: "place" };
    if (found.carrier === found.body) return { body: found.scene.bodies[found.body], index: found.body, p: snap.at, z: snap.z, words: `${snap.words} of ${found.role === "body" ? found.name : found.scene.bodies[found.body]}` };
    const world = out_of(player.rows, found.carrier, snap.at); return { body: found.scene.bodies[found.body], index: found.body, p: into(player.rows, found.body, world), z: snap.z, words: `${snap.words} of ${found.name}` };
  }
  const x = (2 * at[0]) / at[2] - 1, y = 1 - (2 * at[1]) / at[3], near = eye.at_distance(x, y, eye.near || 0.1), far = eye.at_distance(x, y, eye.distance * 3), way = sub(far, near);
  if (Math.abs(way[2]) < 1e-6 * Math.hypot(...way)) return null;
  const s = -near[2] / way[2]; if (s < 0) return null;
  const p = near.map((q, k) => q + s * way[k]).map((q) => +(Math.round(q / step) * step).toFixed(9) || 0); p[2] = 0;
  return { body: "ground", index: 0, p, z: [0, 0, 1], words: `floor at ${p[0]}, ${p[1]}` };
}
