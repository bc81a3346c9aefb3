// Draws simple forms, surfaces and lines that ride on bodies, with WebGL 2.
// The poses of all bodies are rows of one texture and every corner knows its body, so a frame of any mechanism is a few
// draw calls. Copies of a form are written out: software renderers take an instanced draw for as many draws.

const ROW = 18; // numbers of a copy of a form: map (12), colour (3), part, body, taper
const CORNER = 12; // numbers of a corner: place (3), normal (3), colour (3), part, body, quarters

const SOLID_VERTEX = `#version 300 es
precision highp float; precision highp sampler2D;
layout(location=0) in vec3 position; layout(location=1) in vec3 normal; layout(location=2) in vec4 tint; layout(location=3) in vec2 extra;
uniform sampler2D poses; uniform int offset; uniform mat4 camera;
out vec3 world_normal; out vec3 world; out vec3 colour; flat out vec2 id; flat out float quarters;
void main() {
  vec4 local = vec4(position, 1.0); vec3 n = normal;
  int b = int(extra.x) + offset; ivec2 at = ivec2(3 * (b & 255), b >> 8);
  vec4 r0 = texelFetch(poses, at, 0), r1 = texelFetch(poses, at + ivec2(1, 0), 0), r2 = texelFetch(poses, at + ivec2(2, 0), 0);
  world = vec3(dot(r0, local), dot(r1, local), dot(r2, local));
  world_normal = vec3(dot(r0.xyz, n), dot(r1.xyz, n), dot(r2.xyz, n));
  colour = tint.rgb; id = vec2(tint.a, extra.x); quarters = extra.y;
  gl_Position = camera * vec4(world, 1.0);
}`;

// How much of the light of the sun reaches a place: what the sun sees first is kept as depths in a texture.
const SUNLIGHT = `precision highp sampler2DShadow;
uniform sampler2DShadow depths; uniform mat4 sun_camera; uniform float grain;
float sunlight(vec3 place, vec3 n, float spread) {
  vec3 at = (sun_camera * vec4(place + 1.5 * grain * n, 1.0)).xyz * 0.5 + 0.5;
  if (any(lessThan(at, vec3(0.0))) || any(greaterThan(at, vec3(1.0)))) return 1.0;
  if (spread == 0.0) return textureLod(depths, at, 0.0);
  float sum = 0.0;
  for (int k = 0; k < 4; k++) sum += textureLod(depths, at + vec3(spread * (vec2(k & 1, k >> 1) - 0.5), 0.0), 0.0);
  return 0.25 * sum;
}`;

const SOLID_FRAGMENT = `#version 300 es
precision highp float; ${SUNLIGHT}
in vec3 world_normal; in vec3 world; in vec3 colour; flat in vec2 id; flat in float quarters;
uniform vec3 light; uniform vec3 up; uniform vec3 towards; uniform float alpha; uniform bool facets;
uniform int purpose; uniform vec3 chosen; uniform float lift; uniform vec3 sun; uniform float shadowed, spread;
out vec4 painted;
void main() {
  if (purpose == 1) {
    float part = id.x + 1.0, depth = floor(gl_FragCoord.z * 65535.0);
    painted = vec4(mod(part, 256.0), floor(part / 256.0), mod(depth, 256.0), floor(depth / 256.0)) / 255.0;
    return;
  }
  vec3 n = facets ? cross(dFdx(world), dFdy(world)) : world_normal;
  n = normalize(n);
  if (facets && dot(n, towards) < 0.0) n = -n;
  vec3 base = colour;
  // Dark parts are to be seen before a dark ground as well.
  base = mix(base, vec3(0.72, 0.78, 0.85), 0.5 * lift * smoothstep(0.5, 0.15, dot(base, vec3(0.3, 0.6, 0.1))));
  if (quarters > 0.5) base = mix(vec3(0.97), vec3(0.11, 0.14, 0.18), step(1.5, quarters));
  if ((chosen.x == id.y && chosen.x > 0.5) || (id.y >= chosen.y && id.y < chosen.z)) base = mix(base, vec3(1.0, 0.78, 0.2), 0.45);
  float lit = max(dot(n, light), 0.0), sky = 0.5 + 0.5 * dot(n, up);
  float shine = pow(max(dot(reflect(-light, n), towards), 0.0), 24.0);
  // What faces away from the sun is dark by itself; a shadow on it would have no edge.
  float facing = smoothstep(0.0, 0.3, dot(n, sun)), dark = 0.0;
  if (shadowed > 0.5 && facing > 0.0) dark = facing * (1.0 - sunlight(world, n, spread));
  painted = vec4(base * (0.42 + 0.26 * sky + 0.42 * lit) * (1.0 - 0.4 * dark) + 0.10 * shine * (1.0 - dark), alpha);
}`;

const DEPTH_FRAGMENT = `#version 300 es
precision lowp float; void main() {}`;

const LINE_VERTEX = `#version 300 es
precision highp float; precision highp sampler2D;
layout(location=0) in vec2 corner; layout(location=1) in vec4 start; layout(location=2) in vec4 end;
layout(location=3) in vec4 tint; layout(location=4) in float dash;
uniform sampler2D poses; uniform mat4 camera; uniform vec2 size;
out vec3 colour; out float along; flat out float dashed;
vec3 place(vec4 p) {
  int b = int(p.w); ivec2 at = ivec2(3 * (b & 255), b >> 8); vec4 P = vec4(p.xyz, 1.0);
  return vec3(dot(texelFetch(poses, at, 0), P), dot(texelFetch(poses, at + ivec2(1, 0), 0), P),
              dot(texelFetch(poses, at + ivec2(2, 0), 0), P));
}
void main() {
  vec4 a = camera * vec4(place(start), 1.0), b = camera * vec4(place(end), 1.0);
  vec2 A = a.xy / a.w * size, B = b.xy / b.w * size;
  vec2 way = B - A; float span = length(way); way = span > 1e-6 ? way / span : vec2(1.0, 0.0);
  vec4 p = corner.x < 0.5 ? a : b;
  p.xy += vec2(-way.y, way.x) * corner.y * tint.a / size * p.w;
  along = corner.x * span * 0.5; dashed = dash; colour = tint.rgb; gl_Position = p;
}`;

const LINE_FRAGMENT = `#version 300 es
precision highp float;
in vec3 colour; in float along; flat in float dashed; uniform float alpha; out vec4 painted;
void main() { if (dashed > 0.5 && mod(along, 9.0) > 5.0) discard; painted = vec4(colour, alpha); }`;

const FLOOR_VERTEX = `#version 300 es
precision highp float;
layout(location=0) in vec2 corner; uniform mat4 camera; uniform vec3 centre, first, second; uniform float reach;
out vec2 place; out vec2 from; out vec3 p;
void main() {
  from = corner; p = centre + reach * (corner.x * first + corner.y * second);
  place = vec2(dot(p, first), dot(p, second)); gl_Position = camera * vec4(p, 1.0);
}`;

const FLOOR_FRAGMENT = `#version 300 es
precision highp float; ${SUNLIGHT}
in vec2 place; in vec2 from; in vec3 p; uniform vec3 ground, ink, shade; uniform float spacing, body, shadowed, spread; out vec4 painted;
void main() {
  float fade = 1.0 - smoothstep(0.55, 1.0, length(from)); if (fade < 0.01) discard;
  vec2 cells = place / spacing, wide = max(fwidth(cells), vec2(1e-6));
  vec2 off = abs(fract(cells - 0.5) - 0.5) / wide;
  float line = (1.0 - min(min(off.x, off.y), 1.0)) * (1.0 - smoothstep(0.15, 0.5, max(wide.x, wide.y)));
  vec3 paint = mix(ground, ink, line);
  if (shadowed > 0.5) paint = mix(shade * (1.0 - 0.1 * line), paint, sunlight(p, vec3(0.0), spread));
  painted = vec4(paint, fade * mix(0.8 * line, 1.0, body));
}`;

function unit_cylinder(around) {
  const corners = [], normals = [], faces = [];
  for (let k = 0; k <= around; k++) {
    const a = (2 * Math.PI * k) / around, x = Math.cos(a), y = Math.sin(a);
    for (const [z, nx, ny, nz] of [[0, x, y, 0], [1, x, y, 0], [0, 0, 0, -1], [1, 0, 0, 1]]) { corners.push(x, y, z); normals.push(nx, ny, nz); }
  }
  const low = corners.length / 3; corners.push(0, 0, 0, 0, 0, 1); normals.push(0, 0, -1, 0, 0, 1);
  for (let k = 0; k < around; k++) {
    const i = 4 * k, j = i + 4;
    faces.push(i, j, j + 1, i, j + 1, i + 1, low, j + 2, i + 2, low + 1, i + 3, j + 3);
  }
  return { corners, normals, faces };
}

function unit_ball(around) {
  const corners = [], faces = [], rows = Math.max(3, Math.round(around / 2));
  for (let i = 0; i <= rows; i++) for (let k = 0; k <= around; k++) {
    const e = Math.PI * (i / rows - 0.5), a = (2 * Math.PI * k) / around;
    corners.push(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e));
  }
  for (let i = 0; i < rows; i++) for (let k = 0; k < around; k++) {
    const a = i * (around + 1) + k, b = a + around + 1;
    if (i > 0) faces.push(a, a + 1, b + 1);
    if (i < rows - 1) faces.push(a, b + 1, b);
  }
  return { corners, normals: corners, faces };
}

// The octants of a ball, in turn light and dark: the sign of a mass centre.
function octants(ball, dark) {
  const { corners, normals, faces } = ball, kept = [];
  for (let k = 0; k < faces.length; k += 3) {
    const middle = [0, 1, 2].map((i) => corners[3 * faces[k] + i] + corners[3 * faces[k + 1] + i] + corners[3 * faces[k + 2] + i]);
    if (middle[0] * middle[1] * middle[2] > 0 === dark) kept.push(faces[k], faces[k + 1], faces[k + 2]);
  }
  return { corners, normals, faces: kept };
}

function unit_box() {
  const corners = [], normals = [], faces = [];
  for (let axis = 0; axis < 3; axis++) for (const side of [-0.5, 0.5]) {
    const at = corners.length / 3;
    for (const [u, v] of [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) {
      const p = [0, 0, 0], n = [0, 0, 0]; p[axis] = side; n[axis] = 2 * side; p[(axis + 1) % 3] = u; p[(axis + 2) % 3] = v;
      corners.push(...p); normals.push(...n);
    }
    faces.push(...(side > 0 ? [at, at + 1, at + 2, at, at + 2, at + 3] : [at, at + 2, at + 1, at, at + 3, at + 2]));
  }
  return { corners, normals, faces };
}

function unit_coils() {
  const corners = [], normals = [], faces = [], turns = 7, steps = 12 * turns, around = 6, wire = 0.22, path = [[0, 0, 0], [0, 0, 0.12]];
  for (let k = 0; k <= steps; k++) { const a = (2 * Math.PI * turns * k) / steps; path.push([Math.cos(a), Math.sin(a), 0.15 + (0.7 * k) / steps]); }
  path.push([0, 0, 0.88], [0, 0, 1]);
  path.forEach((p, i) => {
    const a = path[Math.max(0, i - 1)], b = path[Math.min(path.length - 1, i + 1)];
    // Across the wire: outwards, and along the axis; good enough for coils seen from afar.
    const far = Math.hypot(p[0], p[1]), out = far > 0.1 ? [p[0] / far, p[1] / far, 0] : [1, 0, 0];
    const t = [b[0] - a[0], b[1] - a[1], (b[2] - a[2]) * (far > 0.1 ? 0.2 : 8)], l = Math.hypot(...t), w = t.map((x) => x / l);
    const side = [w[1] * out[2] - w[2] * out[1], w[2] * out[0] - w[0] * out[2], w[0] * out[1] - w[1] * out[0]];
    for (let k = 0; k < around; k++) {
      const c = Math.cos((2 * Math.PI * k) / around), s = Math.sin((2 * Math.PI * k) / around), n = out.map((x, m) => c * x + s * side[m]);
      corners.push(p[0] + wire * n[0], p[1] + wire * n[1], p[2] + (far > 0.1 ? 0.03 * n[2] : 0)); normals.push(...n);
    }
  });
  for (let i = 0; i + 1 < path.length; i++) for (let k = 0; k < around; k++) {
    const a = i * around + k, b = i * around + ((k + 1) % around);
    faces.push(a, b, b + around, a, b + around, a + around);
  }
  return { corners, normals, faces };
}

// Whether pixels are computed by the processor, which cannot afford what a graphics card gives for nothing.
function draws_in_software() {
  const gl = document.createElement("canvas").getContext("webgl2"), more = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl ? String(gl.getParameter(more ? more.UNMASKED_RENDERER_WEBGL : gl.RENDERER)) : "";
  const lose = gl && gl.getExtension("WEBGL_lose_context"); if (lose) lose.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

class Renderer {
  constructor(canvas) {
    this.is_software = draws_in_software();
    const gl = canvas.getContext("webgl2", { antialias: !this.is_software, alpha: false });
    if (!gl) throw new Error("This browser has no WebGL 2, which the scene needs. Plots and times work without it.");
    this.gl = gl; this.canvas = canvas;
    this.solid = this.program(SOLID_VERTEX, SOLID_FRAGMENT);
    this.line = this.program(LINE_VERTEX, LINE_FRAGMENT);
    this.floor = this.program(FLOOR_VERTEX, FLOOR_FRAGMENT);
    this.depth = this.program(SOLID_VERTEX, DEPTH_FRAGMENT);
    for (const { made, depths } of [this.solid, this.floor]) { gl.useProgram(made); gl.uniform1i(depths, 1); }
    this.sun = this.seen_by_sun(1);
    this.texture = gl.createTexture(); gl.bindTexture(gl.TEXTURE_2D, this.texture);
    for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.NEAREST], [gl.TEXTURE_MAG_FILTER, gl.NEAREST], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) gl.texParameteri(gl.TEXTURE_2D, name, value);
    this.square = this.buffer(new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    gl.enable(gl.DEPTH_TEST); gl.depthFunc(gl.LEQUAL);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind); gl.shaderSource(shader, text); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(made));
    const found = { made };
    for (let k = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS) - 1; k >= 0; k--) { const name = gl.getActiveUniform(made, k).name; found[name] = gl.getUniformLocation(made, name); }
    return found;
  }

  buffer(data) { const gl = this.gl, made = gl.createBuffer(); gl.bindBuffer(gl.ARRAY_BUFFER, made); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW); return made; }

  // Copies of surfaces, [surface, rows] each, as one; what has no normals has facets. A batch may be filled again.
  batch(pieces, facets = false) {
    const gl = this.gl, made = { facets, count: 0, array: gl.createVertexArray(), corners: gl.createBuffer(), faces: gl.createBuffer() };
    gl.bindVertexArray(made.array); gl.bindBuffer(gl.ARRAY_BUFFER, made.corners);
    [[0, 3, 0], [1, 3, 3], [2, 4, 6], [3, 2, 10]].forEach(([at, size, from]) => { gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, size, gl.FLOAT, false, 4 * CORNER, 4 * from); });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, made.faces); gl.bindVertexArray(null);
    if (pieces) this.fill(made, pieces);
    return made;
  }

  fill(batch, pieces) {
    const gl = this.gl; let corners = 0, indices = 0;
    for (const [surface, rows] of pieces) { corners += (surface.corners.length / 3) * (rows.length / ROW); indices += surface.faces.length * (rows.length / ROW); }
    batch.count = indices; if (!indices) return;
    const data = new Float32Array(corners * CORNER), faces = new Uint32Array(indices); let at = 0, to = 0;
    for (const [{ corners: c, normals: n, faces: f }, rows] of pieces) for (let r = 0; r < rows.length; r += ROW) {
      const m = rows.slice ? rows.slice(r, r + ROW) : rows, first = at, squares = [0, 1, 2].map((k) => m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]), taper = m[17];
      for (let k = 0; k < c.length; k += 3, at++) {
        const o = at * CORNER, narrow = taper <= 1 ? 1 + (taper - 1) * c[k + 2] : 1, x = c[k] * narrow, y = c[k + 1] * narrow, z = c[k + 2];
        for (let i = 0; i < 3; i++) {
          data[o + i] = m[4 * i] * x + m[4 * i + 1] * y + m[4 * i + 2] * z + m[4 * i + 3];
          if (n) data[o + 3 + i] = (m[4 * i] * n[k]) / squares[0] + (m[4 * i + 1] * n[k + 1]) / squares[1] + (m[4 * i + 2] * n[k + 2]) / squares[2];
          data[o + 6 + i] = m[12 + i];
        }
        data[o + 9] = m[15]; data[o + 10] = m[16]; data[o + 11] = taper === 2 ? 1 : taper === 3 ? 2 : 0;
      }
      for (let k = 0; k < f.length; k++) faces[to++] = first + f[k];
    }
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, batch.corners); gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, batch.faces); gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.DYNAMIC_DRAW);
  }

  // Surfaces whose corners ride on stations of their own.
  skins(pieces) {
    const gl = this.gl, made = this.batch(null, false); let corners = 0, indices = 0;
    for (const { on, faces } of pieces) { corners += on.length; indices += faces.length; }
    const data = new Float32Array(corners * CORNER), all = new Uint32Array(indices); let at = 0, to = 0;
    for (const { corners: c, normals: n, on, faces, colour, part } of pieces) {
      const first = at; for (let k = 0; k < on.length; k++, at++) data.set([c[3 * k], c[3 * k + 1], c[3 * k + 2], n[3 * k] / 127, n[3 * k + 1] / 127, n[3 * k + 2] / 127, ...colour, part, on[k], 0], at * CORNER);
      for (let k = 0; k < faces.length; k++) all[to++] = first + faces[k];
    }
    made.count = indices; gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.corners); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, made.faces); gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, all, gl.STATIC_DRAW);
    return made;
  }

  // Lines between points of bodies: rows of start (3), body, end (3), body, colour (3), half width [px], dashed.
  lines(rows) {
    const gl = this.gl, count = rows.length / 13, made = { instances: count }, data = new Float32Array(4 * count * 15), faces = new Uint32Array(6 * count);
    for (let k = 0; k < count; k++) {
      [[0, -1], [1, -1], [0, 1], [1, 1]].forEach(([x, y], i) => { const o = (4 * k + i) * 15; data[o] = x; data[o + 1] = y; for (let j = 0; j < 13; j++) data[o + 2 + j] = rows[13 * k + j]; });
      faces.set([0, 1, 2, 2, 1, 3].map((i) => 4 * k + i), 6 * k);
    }
    made.array = gl.createVertexArray(); gl.bindVertexArray(made.array); made.buffers = [this.buffer(data), gl.createBuffer()];
    [[0, 2, 0], [1, 4, 2], [2, 4, 6], [3, 4, 10], [4, 1, 14]].forEach(([at, size, from]) => { gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, size, gl.FLOAT, false, 60, 4 * from); });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, made.buffers[1]); gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return made;
  }

  // What was kept of a scene that is shown no more.
  forget_scene(kept) {
    const gl = this.gl, batches = new Set([...kept.batches, ...kept.shades, kept.masses, kept.triads, kept.moving, kept.arrows]);
    for (const batch of batches) { gl.deleteVertexArray(batch.array); gl.deleteBuffer(batch.corners); gl.deleteBuffer(batch.faces); }
    this.forget(kept.lines);
  }

  forget(lines) { this.gl.deleteVertexArray(lines.array); lines.buffers.forEach((buffer) => this.gl.deleteBuffer(buffer)); }

  // The poses of all bodies as rows of 3x4 matrices, 256 bodies in a line of the texture.
  set_poses(rows) {
    const gl = this.gl, bodies = rows.length / 12, high = Math.max(1, Math.ceil(bodies / 256));
    if (!this.table || this.table.length !== 768 * 4 * high) { this.table = new Float32Array(768 * 4 * high); this.high = 0; }
    this.table.set(rows);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    if (this.high !== high) { gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, 768, high, 0, gl.RGBA, gl.FLOAT, this.table); this.high = high; }
    else gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 768, high, gl.RGBA, gl.FLOAT, this.table);
  }

  // A square of depths, as many on a side, in the second texture.
  seen_by_sun(size) {
    const gl = this.gl, texture = gl.createTexture(), frame = gl.createFramebuffer();
    if (this.sun) { gl.deleteTexture(this.sun.texture); gl.deleteFramebuffer(this.sun.frame); }
    gl.activeTexture(gl.TEXTURE1); gl.bindTexture(gl.TEXTURE_2D, texture); gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, size, size);
    for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE], [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL]]) gl.texParameteri(gl.TEXTURE_2D, name, value);
    gl.activeTexture(gl.TEXTURE0); gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0); gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { texture, frame, size };
  }

  // What stands in the light that comes from the direction `sun`, within a ball; what is drawn next has its shadows.
  cast_shadows(batches, { sun, centre, radius, size }) {
    const gl = this.gl, u = this.depth; if (this.sun.size !== size) this.sun = this.seen_by_sun(size);
    const right = unit_of(cross(Math.abs(sun[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], sun)), above = cross(sun, right), rows = [right, above, sun.map((x) => -x)];
    const camera = new Float32Array(16); rows.forEach((row, i) => { for (let j = 0; j < 3; j++) camera[4 * j + i] = row[j] / radius; camera[12 + i] = -dot(row, centre) / radius; }); camera[15] = 1;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.sun.frame); gl.viewport(0, 0, size, size); gl.depthMask(true); gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.useProgram(u.made); gl.bindTexture(gl.TEXTURE_2D, this.texture); gl.uniformMatrix4fv(u.camera, false, camera); gl.uniform1i(u.offset, 0);
    gl.enable(gl.POLYGON_OFFSET_FILL); gl.polygonOffset(1.5, 4);
    for (const batch of batches) if (batch.count && !(batch.alpha < 1)) { gl.bindVertexArray(batch.array); gl.drawElements(gl.TRIANGLES, batch.count, gl.UNSIGNED_INT, 0); }
    gl.disable(gl.POLYGON_OFFSET_FILL); gl.bindVertexArray(null); gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { camera, sun, grain: (2 * radius) / size, spread: this.is_coarse ? 0 : 1.6 / size };
  }

  // The shadows that a program is to draw, if any.
  set_shadows(u) {
    const gl = this.gl, { shadows } = this.look; gl.uniform1f(u.shadowed, shadows ? 1 : 0); if (!shadows) return;
    gl.uniformMatrix4fv(u.sun_camera, false, shadows.camera); gl.uniform1f(u.grain, shadows.grain); gl.uniform1f(u.spread, shadows.spread);
  }

  begin(look) {
    const gl = this.gl; this.look = look;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...look.paper, 1); gl.depthMask(true); gl.disable(gl.BLEND); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  draw_floor(floor) {
    const gl = this.gl, u = this.floor;
    gl.useProgram(u.made); gl.uniformMatrix4fv(u.camera, false, this.look.camera);
    gl.uniform3fv(u.centre, floor.centre); gl.uniform3fv(u.first, floor.first); gl.uniform3fv(u.second, floor.second);
    gl.uniform1f(u.reach, floor.reach); gl.uniform1f(u.spacing, floor.spacing); gl.uniform3fv(u.ground, this.look.floor); gl.uniform3fv(u.ink, this.look.grid); gl.uniform1f(u.body, floor.is_open ? 0 : 1); gl.uniform3fv(u.shade, this.look.shade); this.set_shadows(u);
    gl.bindVertexArray(null); gl.bindBuffer(gl.ARRAY_BUFFER, this.square); gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    // Seen from above a floor hides what is below it; a grid in space hides nothing.
    gl.enable(gl.BLEND); gl.depthMask(!floor.is_open && floor.hides); gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4); gl.depthMask(true); gl.disable(gl.BLEND);
    gl.disableVertexAttribArray(0);
  }

  // Purposes: 0 paint, 1 tell parts and depths.
  draw(batches, { purpose = 0, offset = 0, alpha = 1, chosen = [0, 0, 0] } = {}) {
    const gl = this.gl, u = this.solid, look = this.look;
    gl.useProgram(u.made); gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.uniformMatrix4fv(u.camera, false, look.camera); gl.uniform1i(u.offset, offset); gl.uniform3fv(u.up, look.up);
    gl.uniform3fv(u.light, look.light); gl.uniform3fv(u.towards, look.towards); gl.uniform1f(u.alpha, alpha);
    gl.uniform1i(u.purpose, purpose); gl.uniform3fv(u.chosen, chosen); gl.uniform1f(u.lift, look.lift || 0);
    this.set_shadows(u); if (look.shadows) gl.uniform3fv(u.sun, look.shadows.sun);
    if (alpha < 1) gl.enable(gl.BLEND);
    for (const batch of batches) {
      if (!batch.count) continue;
      // What is seen through hides nothing that is drawn later.
      const clear = batch.alpha < 1 && !purpose; if (clear) { gl.enable(gl.BLEND); gl.depthMask(false); gl.uniform1f(u.alpha, alpha * batch.alpha); }
      // Surfaces of others may be turned inside out; ours are seen from outside only.
      if (batch.facets) gl.disable(gl.CULL_FACE); else gl.enable(gl.CULL_FACE);
      gl.uniform1i(u.facets, batch.facets ? 1 : 0); gl.bindVertexArray(batch.array);
      gl.drawElements(gl.TRIANGLES, batch.count, gl.UNSIGNED_INT, 0);
      if (clear) { gl.depthMask(true); gl.uniform1f(u.alpha, alpha); if (alpha === 1) gl.disable(gl.BLEND); }
    }
    gl.bindVertexArray(null); gl.disable(gl.BLEND); gl.disable(gl.CULL_FACE); gl.depthMask(true);
  }

  draw_lines(lines, alpha = 1) {
    if (!lines.instances) return;
    const gl = this.gl, u = this.line;
    gl.useProgram(u.made); gl.bindTexture(gl.TEXTURE_2D, this.texture); gl.uniformMatrix4fv(u.camera, false, this.look.camera);
    gl.uniform2f(u.size, ...this.look.size); gl.uniform1f(u.alpha, alpha);
    gl.enable(gl.BLEND); gl.bindVertexArray(lines.array); gl.drawElements(gl.TRIANGLES, 6 * lines.instances, gl.UNSIGNED_INT, 0);
    gl.bindVertexArray(null); gl.disable(gl.BLEND);
  }

  forget_depth() { this.gl.clear(this.gl.DEPTH_BUFFER_BIT); }

  // The part and the depth (0 to 1) under a pixel, or null.
  pick(batches, look, x, y) {
    const gl = this.gl, w = this.canvas.width, h = this.canvas.height;
    if (!this.hidden || this.hidden.w !== w || this.hidden.h !== h) {
      if (this.hidden) { gl.deleteFramebuffer(this.hidden.frame); gl.deleteRenderbuffer(this.hidden.colour); gl.deleteRenderbuffer(this.hidden.depth); }
      const frame = gl.createFramebuffer(), colour = gl.createRenderbuffer(), depth = gl.createRenderbuffer();
      gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
      gl.bindRenderbuffer(gl.RENDERBUFFER, colour); gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, w, h);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, colour);
      gl.bindRenderbuffer(gl.RENDERBUFFER, depth); gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT24, w, h);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
      this.hidden = { frame, colour, depth, w, h };
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.hidden.frame);
    gl.enable(gl.SCISSOR_TEST); gl.scissor(x, y, 1, 1);
    this.look = look; gl.viewport(0, 0, w, h); gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.draw(batches, { purpose: 1 });
    const pixel = new Uint8Array(4); gl.readPixels(x, y, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    gl.disable(gl.SCISSOR_TEST); gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    const part = pixel[0] + 256 * pixel[1] - 1;
    return part < 0 ? null : { part, depth: (pixel[2] + 256 * pixel[3] + 0.5) / 65536 };
  }
}
