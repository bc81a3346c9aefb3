// Plays a movie: segments in time, each with the scene of one structure, and the poses of its bodies.

const decode = (text, Kind) => { const raw = atob(text), bytes = new Uint8Array(raw.length); for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k); return new Kind(bytes.buffer); };
const alpha_of = (text) => (text.length > 7 ? parseInt(text.slice(7, 9), 16) / 255 : 1);
const rgb = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
const element = (tag, name, text) => { const made = document.createElement(tag); if (name) made.className = name; if (text !== undefined) made.textContent = text; return made; };

const ICONS = {
  play: "M4 2.5v11l9-5.5z", pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z", back: "M11 3v10L5 8zM4 3h1.5v10H4z", ahead: "M5 3v10l6-5zM10.5 3H12v10h-1.5z",
  first: "M12.5 3v10L7.5 8zM7.5 3v10L2.5 8z", loop: "M4.2 4.2A5.4 5.4 0 0 1 13 6h1.6l-2.4 2.8L9.800 6h1.500a3.900 3.900 0 0 0-6-.7zM11.800 11.800A5.400 5.400 0 0 1 3 10H1.400l2.400-2.800L6.200 10H4.700a3.900 3.900 0 0 0 6 .7z",
};
const icon = (name) => `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;

const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const AXES = ["#d0453a", "#3a9a4c", "#3a6fd0"];
const TRACES = ["#b0307a", "#0f8f87", "#8a6a10", "#5a4fd0", "#c0502a", "#3a7a2a"];

// The largest of 1, 2 and 5 times a power of ten that is not longer.
const round_length = (rough) => { const power = 10 ** Math.floor(Math.log10(rough)), part = rough / power; return power * (part < 2 ? 1 : part < 5 ? 2 : 5); };

// A pose between two: places straight, turns the short way.
function blend(x, a, y, b, s, out) {
  let turn = 0; for (let i = 3; i < 7; i++) turn += x[a + i] * y[b + i];
  const sign = turn < 0 ? -1 : 1, p = [0, 0, 0, 0, 0, 0, 0];
  for (let i = 0; i < 3; i++) p[i] = x[a + i] + s * (y[b + i] - x[a + i]);
  let size = 0; for (let i = 3; i < 7; i++) { p[i] = (1 - s) * x[a + i] + s * sign * y[b + i]; size += p[i] * p[i]; }
  size = Math.sqrt(size) || 1; for (let i = 0; i < 7; i++) out[i] = i < 3 ? p[i] : p[i] / size;
}

// The rows of a station in its body: x = s + S eta + eta' B eta / 2 + F eta^4, turned by R eta as Cayley has it.
function station(f, n, eta, out) {
  const k = f.modes, a = [0, 0, 0];
  for (let i = 0; i < 3; i++) {
    let x = f.s[3 * n + i], turn = 0; const row = (3 * n + i) * k;
    for (let j = 0; j < k; j++) { x += f.S[row + j] * eta[j]; turn += f.R[row + j] * eta[j]; if (f.B) for (let l = 0; l < k; l++) x += 0.5 * f.B[(row + j) * k + l] * eta[j] * eta[l]; }
    if (f.F) f.products.forEach(([p, q, r, t], j) => { x += f.F[(3 * n + i) * f.products.length + j] * eta[p] * eta[q] * eta[r] * eta[t]; });
    out[4 * i + 3] = x; a[i] = turn / 2;
  }
  const [x, y, z] = a, size = 2 / (1 + x * x + y * y + z * z);
  out[0] = 1 - size * (y * y + z * z); out[1] = size * (x * y - z); out[2] = size * (x * z + y);
  out[4] = size * (x * y + z); out[5] = 1 - size * (x * x + z * z); out[6] = size * (y * z - x);
  out[8] = size * (x * z - y); out[9] = size * (y * z + x); out[10] = 1 - size * (x * x + y * y);
}

// The rows of what has these rows in a body that has those.
function compose(A, a, B, out, to) {
  const m = new Float64Array(12);
  for (let i = 0; i < 3; i++) for (let j = 0; j < 4; j++) m[4 * i + j] = A[a + 4 * i] * B[j] + A[a + 4 * i + 1] * B[4 + j] + A[a + 4 * i + 2] * B[8 + j] + (j === 3 ? A[a + 4 * i + 3] : 0);
  out.set(m, to);
}

class Player {
  // `hosts` are places of a page around it that take what the player would otherwise show itself: { aside } for plots.
  constructor(root, data, hosts = {}) {
    this.root = root; this.data = data; this.hosts = hosts; this.kept = new Map(); this.frames_drawn = 0;
    this.options = { bodies: false, joints: false, points: false, frames: false, masses: false, reactions: false, actuators: false, contacts: false, applied: false, moments: false, cloud: true, ghost: true, floor: true, scale: 1, follow: "" };
    this.read(); this.build();
    this.time = this.start; this.playing = false; this.looping = true; this.speed = data.speed;
    try { this.renderer = new Renderer(this.canvas); } catch (error) { this.say(error.message); }
    const scene = data.scenes[0];
    this.eye = new Orbit(scene.camera.up, scene.camera.towards, scene.camera.planar); this.planar = scene.camera.planar;
    this.resize(); this.fit();
    new ResizeObserver(() => this.resize()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.plots.forEach((plot) => plot.draw()); this.redraw(); });
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => { this.kept.clear(); this.trails = null; this.trail_lines = []; this.renderer = new Renderer(this.canvas); this.resize(); });
    this.pointers(); this.keys();
    this.set_time(this.start);
    if (data.live && !hosts.aside) this.live = new Live(this, data.live);
  }

  read() {
    const { data } = this;
    for (const segment of [...data.segments, ...data.ghost]) {
      segment.t = decode(segment.t, Float64Array); segment.poses = decode(segment.poses, Float32Array);
      for (const name of ["amplitudes", "larger"]) segment[name] = segment[name] ? decode(segment[name], Float32Array) : null;
      const scene = data.scenes[segment.scene]; segment.bodies = scene.bodies.length;
      if (!scene.carriers) {
        scene.modes = 0; scene.carriers = scene.bodies.length;
        for (const f of scene.flexings) { for (const name of ["s", "S", "R", "B", "F"]) f[name] = f[name] ? decode(f[name], Float32Array) : null; f.at = scene.modes; scene.modes += f.modes; scene.carriers += f.s.length / 3; }
      }
      segment.flexings = scene.flexings; segment.carriers = scene.carriers; segment.modes = scene.modes;
      for (const arrow of segment.arrows) { arrow.vectors = decode(arrow.vectors, Int16Array); if (arrow.offset) arrow.offset = decode(arrow.offset, Float32Array); }
    }
    for (const panel of data.panels) { panel.t = decode(panel.t, Float64Array); for (const curve of panel.curves) curve.values = decode(curve.values, Float32Array); }
    this.exaggerate = data.exaggerate; this.crowd = Math.max(...data.segments.map((s) => s.motions));
    this.start = data.segments[0].t[0]; const last = data.segments[data.segments.length - 1].t; this.end = last[last.length - 1];
  }

  // The page.

  build() {
    const { root, data } = this;
    root.classList.add("catena"); root.tabIndex = -1; if (root.parentElement === document.body) root.setAttribute("role", "main");
    root.innerHTML = `<div class="stage"><canvas class="gl" aria-label="The mechanism in space"></canvas><div class="names"></div>
      <header><strong role="heading" aria-level="1"></strong><span class="facts"></span></header>
      <div class="tools" role="toolbar" aria-label="View"></div><div class="options" hidden></div><svg class="gizmo" viewBox="-30 -30 60 60" aria-hidden="true"></svg><p class="note" role="status" hidden></p><p class="key" hidden></p></div>
      <aside></aside><footer></footer>`;
    this.stage = root.querySelector(".stage"); this.canvas = root.querySelector("canvas.gl"); this.names = root.querySelector(".names");
    root.querySelector("strong").textContent = data.title;
    this.gizmo = root.querySelector(".gizmo"); this.note = root.querySelector(".note"); this.key = root.querySelector(".key");
    this.build_tools(); this.fill();
  }

  // What depends on the movie.
  fill() {
    const { root, data } = this, own = root.querySelector("aside"), aside = this.hosts.aside || own;
    root.querySelector("strong").textContent = data.title; root.querySelector(".options").replaceChildren(); this.build_options(); aside.replaceChildren(); this.list = this.slider = this.track = this.button = this.loop_button = null;
    this.stage.querySelectorAll(".events").forEach((list) => list.remove());
    const named = Object.entries(data.parameters || {});
    // The studio has them as sliders beside the scene; a page alone says with which numbers it was made.
    if (named.length && aside === own) aside.append(element("p", "parameters", named.map(([name, value]) => `${name} = ${shown_number(value)}`).join(", ")));
    const rest = element("details", "rest"), some = data.panels.filter((panel) => panel.is_detail).length;
    rest.append(element("summary", "", `${some} more: ${data.panels.filter((panel) => panel.is_detail).map((panel) => panel.title.split(/[:(]/)[0].trim().toLowerCase()).join(", ")}`));
    (this.plots || []).forEach((plot) => plot.end()); this.plots = []; if (data.panels.length) this.build_zoom(aside);
    const acts = { scrub: (t) => { this.pause(); this.plots.forEach((plot) => plot.leave()); this.set_time(t); }, zoom: (window) => this.zoom(window), together: this.together = this.together || `catena ${Math.random()}` };
    this.plots = data.panels.map((panel) => new Plot(panel.is_detail ? rest : aside, panel, this.window, acts));
    if (some) { aside.append(rest); rest.ontoggle = () => { this.plots.forEach((plot) => plot.draw()); this.redraw(); }; }
    const alone = aside !== own || (!this.plots.length && !data.live), still = !(this.end > this.start);
    own.hidden = alone; root.classList.toggle("alone", alone);
    const footer = root.querySelector("footer"); footer.replaceChildren(); footer.hidden = still; root.classList.toggle("still", still);
    if (!still) this.build_bar(footer);
  }

  // Show another movie in the same place. The eye stays where it is, unless it is asked to look at the whole anew.
  load(data, refit = false) {
    this.pause(); for (const kept of this.kept.values()) this.renderer && this.renderer.forget_scene(kept); this.kept.clear();
    if (this.renderer) (this.trail_lines || []).forEach((lines) => this.renderer.forget(lines)); this.trail_lines = []; this.trails = null; this.rows = this.now = null; this.named = this.keyed = null; this.was = null; this.chosen = 0;
    this.data = data; this.read(); this.time = this.start; this.speed = data.speed; this.looping = this.looping !== false; this.fill();
    const { camera } = data.scenes[0], keeps = !refit && camera.planar === this.planar && dot(unit_of(camera.up), this.eye.up) > 1 - 1e-9; this.planar = camera.planar;
    if (keeps) this.eye.radius = Math.max(this.eye.radius, size_of(add(data.bounds[1], data.bounds[0], -1)) / 2);
    else { this.eye = new Orbit(camera.up, camera.towards, camera.planar); this.touched = false; }
    const touched = this.touched; this.touched = keeps || touched; this.resize(); this.touched = touched; if (!keeps) this.fit(); this.set_time(this.start);
  }

  build_tools() {
    const tools = this.root.querySelector(".tools");
    const button = (text, title, act) => { const made = element("button", "", text); made.type = "button"; made.title = title; made.onclick = act; tools.append(made); return made; };
    const from = (towards) => () => { this.eye.look_from(towards()); this.fit(); };
    button("Front", "look from the front", from(() => this.eye.flat_front || scaled(this.eye.second, -1)));
    button("Side", "look from the right", from(() => this.eye.first));
    button("Top", "look from above", from(() => { this.eye.azimuth = -Math.PI / 2; return this.eye.up; }));
    button("3-D", "look from an angle", from(() => add(add(scaled(this.eye.first, 0.5), this.eye.second, -0.8), this.eye.up, 0.36)));
    button("Fit", "show everything", () => this.fit());
    const more = button("Show", "labels, frames, forces, traces", () => { const box = this.root.querySelector(".options"); box.hidden = !box.hidden; more.setAttribute("aria-expanded", String(!box.hidden)); });
    more.setAttribute("aria-expanded", "false"); more.className = "more";
  }

  // Which part of the time the plots show: all of them the same.
  build_zoom(aside) {
    const bar = element("div", "zoom"), hint = "or, in a plot, Shift and drag, Ctrl and wheel, or two fingers; a double click shows all"; bar.setAttribute("role", "group"); bar.setAttribute("aria-label", "time that the plots show");
    const button = (text, title, act) => { const made = element("button", "", text); made.type = "button"; made.title = title; made.setAttribute("aria-label", title.split(",")[0]); made.onclick = act; return made; };
    this.windowed = element("output"); this.wider = [button("\u2212", `less of a zoom (-), ${hint}`, () => this.zoom_by(2)), button("All", "all of the time (0)", () => this.zoom(null))];
    bar.append(this.windowed, button("+", `zoom along the time (+), ${hint}`, () => this.zoom_by(0.5)), ...this.wider); aside.append(bar);
    this.zoom(this.is_zoomed && this.window[0] >= this.start && this.window[1] <= this.end ? this.window : null);
  }

  zoom(window) {
    const { start, end } = this, wide = window ? Math.min(Math.max(window[1] - window[0], 1e-5 * (end - start)), end - start) : end - start, from = window ? Math.min(Math.max(window[0], start), end - wide) : start;
    this.is_zoomed = wide < end - start; this.window = this.is_zoomed ? [from, from + wide] : [start, end];
    this.windowed.textContent = this.is_zoomed ? `${tick_name(from, wide / 50)} to ${tick_name(from + wide, wide / 50)} s` : ""; this.wider.forEach((button) => { button.disabled = !this.is_zoomed; });
    for (const plot of this.plots) { plot.window = this.window; plot.draw(); }
  }

  zoom_by(factor) { const [a, b] = this.window, t = this.time >= a && this.time <= b ? this.time : 0.5 * (a + b); this.zoom([t - factor * (t - a), t + factor * (b - t)]); }

  build_options() {
    const box = this.root.querySelector(".options"), { data, options } = this;
    const group = (title) => { const made = element("fieldset"); made.append(element("legend", "", title)); box.append(made); return made; };
    const check = (parent, key, text, colour, refits = false) => {
      const label = element("label"), input = element("input"); input.type = "checkbox"; input.checked = options[key]; input.name = key;
      input.onchange = () => { options[key] = input.checked; if (refits && !this.touched) this.fit(); this.redraw(); };
      label.append(input, text); if (colour) { const mark = element("i"); mark.style.background = colour; label.append(mark); } parent.append(label); return input;
    };
    const names = group("Names"); check(names, "bodies", "bodies"); check(names, "joints", "joints"); if (data.scenes.some((s) => s.frames.length)) check(names, "points", "frames");
    const marks = group("Marks"); check(marks, "frames", "frames"); check(marks, "masses", "mass centres");
    if (data.scenes[0].floor) check(marks, "floor", "floor and shadow"); else if (data.scenes[0].has_grid) check(marks, "floor", "grid and shadow");
    const groups = [...new Set(data.segments.flatMap((s) => s.arrows.map((a) => a.group)))];
    if (groups.length) {
      const forces = group("Forces");
      for (const name of groups) check(forces, name, name, data.groups[name], true);
      check(forces, "moments", "moments too", null, true);
      const label = element("label", "wide", "length"), range = element("input"); range.type = "range"; range.min = -1; range.max = 1.5; range.step = 0.01; range.value = 0; range.name = "scale";
      range.oninput = () => { options.scale = 10 ** range.value; this.redraw(); }; label.append(range); forces.append(label);
    }
    if (data.ghost.length || data.segments.some((s) => s.motions > 1)) {
      const others = group("Others");
      if (data.ghost.length) check(others, "ghost", "other run");
      if (data.segments.some((s) => s.motions > 1)) check(others, "cloud", "other motions");
    }
    if (data.most > 1) {
      const bent = group("Deformation"), label = element("label", "wide"), range = element("input"), told = element("output"); range.type = "range"; range.min = 0; range.max = Math.log10(data.most); range.step = "any"; range.value = Math.log10(Math.max(1, data.exaggerate)); range.name = "exaggerate";
      const tell = () => { told.textContent = `${shown_number(+this.exaggerate.toPrecision(3))} times`; };
      range.oninput = () => { this.exaggerate = 10 ** range.value; tell(); this.trails = null; this.redraw(); }; tell(); label.append(range, told); bent.append(label);
    }
    const scene = data.scenes[0], points = data.points;
    const follow = group("Follow"), pick = element("select"); pick.name = "follow"; pick.setAttribute("aria-label", "body that the eye follows"); pick.append(new Option("nothing", ""));
    for (const name of scene.bodies.slice(1)) pick.append(new Option(name)); pick.onchange = () => { options.follow = pick.value; this.followed = null; this.redraw(); }; follow.append(pick);
    const flat = element("label"), input = element("input"); input.type = "checkbox"; input.name = "flat"; input.checked = scene.camera.planar;
    input.onchange = () => { this.eye.flat = input.checked; this.redraw(); }; flat.append(input, "without perspective"); follow.append(flat);
    this.traced = new Set([...(this.traced || []), ...data.traces]);
    if (this.end > this.start && points.length) {
      const traces = group("Traces"), list = element("div", "list");
      points.forEach(([name, words]) => { const label = element("label"), mark = element("input"); mark.type = "checkbox"; mark.checked = this.traced.has(name); mark.name = `trace ${name}`; mark.onchange = () => { mark.checked ? this.traced.add(name) : this.traced.delete(name); this.trails = null; this.redraw(); }; label.append(mark, words); list.append(label); });
      traces.append(list);
    }
  }

  build_bar(footer) {
    const button = (name, title, act) => { const made = element("button"); made.type = "button"; made.title = title; made.setAttribute("aria-label", title); made.innerHTML = icon(name); made.onclick = act; footer.append(made); return made; };
    button("first", "to the start (Home)", () => this.set_time(this.start));
    button("back", "one frame back (left arrow)", () => this.step(-1));
    this.button = button("play", "play (space)", () => this.toggle()); this.button.className = "play";
    button("ahead", "one frame on (right arrow)", () => this.step(1));
    const loop = button("loop", "start again at the end (L)", () => { this.looping = !this.looping; loop.setAttribute("aria-pressed", String(this.looping)); });
    loop.setAttribute("aria-pressed", "true"); this.loop_button = loop;
    const track = element("div", "track"); this.slider = element("input"); this.slider.type = "range"; this.slider.min = this.start; this.slider.max = this.end; this.slider.step = "any"; this.slider.setAttribute("aria-label", "time");
    this.slider.oninput = () => { this.pause(); this.set_time(+this.slider.value); };
    track.append(this.slider);
    this.track = track; this.build_events(footer);
    this.clock = element("output", "clock"); const speed = element("select"); speed.title = "speed"; speed.setAttribute("aria-label", "speed");
    for (const x of SPEEDS) speed.append(new Option(`${x}x`, x)); speed.value = this.data.speed; speed.onchange = () => { this.speed = +speed.value; };
    footer.append(track, this.clock, speed);
  }

  // What happened on the way: marks on the time line, of which those that would cover each other are one, and a list.
  build_events(footer) {
    const { events } = this.data; if (!events.length) return;
    this.list = element("div", "events"); this.list.hidden = true; this.list.setAttribute("role", "list"); this.stage.append(this.list);
    events.forEach(([t, name]) => { const row = element("div"), go = element("button", "", `${t.toFixed(4)} s  ${name}`); row.setAttribute("role", "listitem"); go.type = "button"; go.onclick = () => { this.pause(); this.set_time(t); }; row.append(go); this.list.append(row); });
    const more = element("button", "many", `${events.length} event${events.length > 1 ? "s" : ""}`); more.type = "button"; more.title = "list what happened (, and . go from one to the next)"; more.setAttribute("aria-expanded", "false");
    more.onclick = () => { this.list.hidden = !this.list.hidden; more.setAttribute("aria-expanded", String(!this.list.hidden)); }; footer.append(more);
  }

  mark_events() {
    const wide = this.track ? this.track.clientWidth - 16 : 0; if (wide <= 0) return;
    this.track.querySelectorAll(".event").forEach((mark) => mark.remove()); const groups = [];
    for (const [t, name] of this.data.events) { const x = (wide * (t - this.start)) / (this.end - this.start), last = groups[groups.length - 1]; if (last && x - last.x < 12) last.names.push([t, name]); else groups.push({ x, t, names: [[t, name]] }); }
    for (const at of groups) {
      const { x, t, names } = at;
      const next = groups[groups.indexOf(at) + 1], room = (next ? next.x : wide) - x, word = names[0][1], label = names.length > 1 ? String(names.length) : room > 7 * Math.min(word.length, 18) + 16 ? (word.length > 18 ? `${word.slice(0, 17)}\u2026` : word) : "";
      const mark = element("button", names.length === 1 && label ? "event named" : "event", label); mark.type = "button"; mark.tabIndex = -1; mark.style.left = `${8 + x}px`;
      mark.title = names.slice(0, 12).map(([at, name]) => `${shown_number(at)} s: ${name}`).join("\n") + (names.length > 12 ? `\nand ${names.length - 12} more` : ""); mark.setAttribute("aria-label", mark.title);
      mark.onclick = () => { this.pause(); this.set_time(t); }; this.track.append(mark);
    }
  }

  to_event(way) { const eps = 1e-9 * (this.end - this.start), found = this.data.events.map(([t]) => t).filter((t) => (way > 0 ? t > this.time + eps : t < this.time - eps)); if (found.length) { this.pause(); this.set_time(way > 0 ? found[0] : found[found.length - 1]); } }

  say(text) { this.note.textContent = text; this.note.hidden = !text; }

  // Time.

  set_time(t) {
    this.time = Math.min(Math.max(t, this.start), this.end); this.redraw();
  }

  segment_at(list, t) { for (let k = list.length - 1; k > 0; k--) if (t >= list[k].t[0]) return list[k]; return list[0]; }

  play() { if (this.playing || !this.button) return; if (this.time >= this.end) this.time = this.start; this.playing = true; this.last = null; this.pace = 0; this.resize(); this.button.innerHTML = icon("pause"); this.button.title = "pause (space)"; this.button.setAttribute("aria-label", "pause (space)"); this.redraw(); }

  pause() { if (!this.playing) return; this.playing = false; this.show_whole(); this.button.innerHTML = icon("play"); this.button.title = "play (space)"; this.button.setAttribute("aria-label", "play (space)"); this.quality = 1; this.resize(); }

  toggle() { this.playing ? this.pause() : this.play(); }

  // Curves grow while a new run is played for the first time, until somebody pauses it or its end is reached.
  show_whole() { if (!this.grows) return; this.grows = false; for (const plot of this.plots) { plot.until = undefined; plot.draw(); } }

  step(count) {
    this.pause(); const { t } = this.segment_at(this.data.segments, this.time);
    let k = 0; while (k + 1 < t.length && t[k + 1] <= this.time + 1e-9 * (this.end - this.start)) k++;
    if (count < 0 && t[k] < this.time - 1e-9 * (this.end - this.start)) k++;
    this.set_time(k + count < t.length ? t[Math.max(0, k + count)] : t[t.length - 1] + 1e-9);
  }

  redraw() { if (!this.asked) { this.asked = true; requestAnimationFrame((now) => this.frame(now)); } }

  frame(now) {
    this.asked = false;
    if (this.playing) {
      if (this.last !== null) {
        const gone = Math.min(now - this.last, 250);
        this.time += (gone / 1000) * this.speed;
        this.adapt(gone);
        if (this.time >= this.end) { this.show_whole(); if (this.looping) this.time = this.start + ((this.time - this.end) % (this.end - this.start)); else { this.time = this.end; this.pause(); } }
      }
      this.last = now; this.redraw();
    }
    this.draw(now);
  }

  // While playing, a slow machine draws fewer pixels; at rest it draws all of them.
  adapt(gone) {
    this.pace = this.pace ? 0.9 * this.pace + 0.1 * gone : 16;
    if (this.pace > 24 && this.quality > 0.6) { this.quality = Math.max(0.6, 0.85 * this.quality); this.pace = 16; this.resize(); }
  }

  resize() {
    if (!this.quality) this.quality = 1;
    // Without smoothing by the card, a picture at rest is drawn larger and shrunk.
    const smooth = this.renderer && this.renderer.is_software && !this.playing && !this.busy ? 2 : 1;
    const ratio = (window.devicePixelRatio || 1) * smooth * (this.busy && this.renderer.is_software ? 0.6 : this.quality);
    const w = Math.max(1, Math.round(this.stage.clientWidth * ratio)), h = Math.max(1, Math.round(this.stage.clientHeight * ratio));
    if (this.canvas.width !== w || this.canvas.height !== h) { this.canvas.width = w; this.canvas.height = h; }
    // Of the page, not of the canvas, whose size is rounded: pictures drawn coarsely and finely are to lie on each other.
    if (this.eye) this.eye.aspect = (this.stage.clientWidth || 1) / (this.stage.clientHeight || 1);
    const wide = this.root.clientWidth, tall = this.root.clientHeight;
    if (this.was !== `${wide} ${tall}`) { this.was = `${wide} ${tall}`; this.plots.forEach((plot) => plot.draw()); this.mark_events(); if (this.eye && !this.touched) this.fit(); }
    this.redraw();
  }

  // While somebody drags, the scene is to follow at once; it is drawn finely again as soon as it rests.
  hurry(changed = true) {
    if (!this.renderer || !this.renderer.is_software) { if (changed) this.redraw(); return; }
    const rest = () => { if (this.live && (this.live.busy || this.live.grip)) { this.resting = setTimeout(rest, 400); return; } this.busy = false; this.resize(); };
    clearTimeout(this.resting); this.resting = setTimeout(rest, 400);
    if (!this.busy) { this.busy = true; this.resize(); } else if (changed) this.redraw();
  }

  fit() { this.touched = false; this.eye.fit(...this.bounds()); this.followed = null; this.redraw(); }

  // The corners of the box around everything, with the arrows that are shown at some times.
  bounds() {
    const { data } = this, [low, high] = data.bounds.map((corner) => [...corner]), scale = this.arrow_scale(), rows = new Float32Array(12);
    for (const segment of data.segments) for (const arrow of this.shown_arrows(segment)) {
      const count = segment.t.length, step = Math.max(1, Math.floor((count * data.segments.length) / 24));
      for (let k = 0; k < count; k += step) for (const p of this.arrow_ends(arrow, k, this.row_at(segment, k, arrow.body, rows), 0, data.scenes[segment.scene], scale)) for (let i = 0; i < 3; i++) { low[i] = Math.min(low[i], p[i]); high[i] = Math.max(high[i], p[i]); }
    }
    // A short impact is not to make everything else small.
    const room = 0.2 * size_of(add(data.bounds[1], data.bounds[0], -1));
    return [low.map((x, i) => Math.max(x, data.bounds[0][i] - room)), high.map((x, i) => Math.min(x, data.bounds[1][i] + room))];
  }

  // The scene.

  // What is drawn of a scene; at rest there is time for finer edges than while something moves.
  kept_scene(index, fine = !this.playing && !this.busy) {
    const key = `${index} ${fine && this.renderer.is_software}`;
    if (this.kept.has(key)) return this.kept.get(key);
    const scene = this.data.scenes[index], gl = this.renderer, many = scene.bodies.length;
    const copies = (form) => decode(scene.forms[form].part, Uint16Array).length, cost = (n) => 4 * n * copies("cylinder") + n * n * copies("ball");
    // The processor draws some thousand triangles in time for the next frame, a card any number that occurs here.
    const around = [24, 18, 14, 12, 10, 8].find((n) => cost(n) < (gl.is_software ? (fine ? 40000 / this.crowd : 3000) : 400000)) || 6;
    const surfaces = { cylinder: unit_cylinder(around), ball: unit_ball(around), box: unit_box() }, smooth = [], facets = [];
    const alphas = [...new Set(scene.parts.map((part) => alpha_of(part[2])))].filter((x) => x < 1);
    const rows_for = (source, alpha = null) => {
      const parts = decode(source.part, Uint16Array), maps = decode(source.map, Float32Array), taper = source.taper ? decode(source.taper, Float32Array) : null, rows = [];
      parts.forEach((part, k) => { const [, , colour, body] = scene.parts[part]; if (alpha !== null && alpha_of(colour) !== alpha) return; rows.push(...maps.subarray(12 * k, 12 * k + 12), ...rgb(colour), part, body, taper ? taper[k] : 1); });
      return rows;
    };
    const batches = [];
    // What hides everything comes first, then what is seen through, a batch for each degree.
    for (const alpha of [1, ...alphas]) {
      const some = [[], []];
      for (const form of Object.keys(scene.forms)) some[0].push([surfaces[form], rows_for(scene.forms[form], alpha)]);
      for (const mesh of scene.meshes) {
        const normals = mesh.normals ? Float32Array.from(decode(mesh.normals, Int8Array), (x) => x / 127) : null;
        some[normals ? 0 : 1].push([{ corners: decode(mesh.corners, Float32Array), faces: decode(mesh.faces, mesh.wide ? Uint32Array : Uint16Array), normals }, rows_for(mesh, alpha)]);
      }
      if (alpha === 1) { smooth.push(...some[0]); facets.push(...some[1]); }
      some.forEach((pieces, k) => { const made = gl.batch(pieces, k === 1); made.alpha = alpha; batches.push(made); });
    }
    if (scene.skins.length) batches.push(gl.skins(scene.skins.map((skin) => ({ corners: decode(skin.corners, Float32Array), normals: decode(skin.normals, Int8Array), on: decode(skin.on, Uint32Array), faces: decode(skin.faces, Uint32Array), colour: rgb(scene.parts[skin.part][2]), part: skin.part }))));
    // Shadows do without round ends and fine edges.
    const coarse = { cylinder: unit_cylinder(6), box: surfaces.box, ball: unit_box() };
    const shades = [gl.batch([...Object.keys(scene.forms).filter((form) => form !== "ball" || !scene.forms.cylinder.part).map((form) => [coarse[form], rows_for(scene.forms[form], 1)]), ...smooth.slice(Object.keys(scene.forms).length)]), batches[1], ...batches.slice(2).filter((batch) => batch.alpha === undefined)];
    const lines = [];
    for (const [, , colour, body, points] of scene.lines) for (let k = 0; k + 5 < points.length; k += 3) lines.push(...points.slice(k, k + 3), body, ...points.slice(k + 3, k + 6), body, ...rgb(colour), 1, 0);
    for (const [, form, colour, a, p, b, r] of scene.spans) {
      if (form === "cable") lines.push(...p, a, ...r, b, ...rgb(colour), 1.4, 0);
      if (form === "float") lines.push(...p, a, ...r, b, ...rgb(colour), 1, 1);
      if (form === "gap") lines.push(...p, a, ...r, b, ...rgb(colour), 1.6, 1);
    }
    const heaviest = Math.max(...scene.masses.map(([, mass]) => mass), 1e-12), marks = [], ball = unit_ball(16);
    for (const [body, mass, com] of scene.masses) { const r = scene.radius * Math.max(0.6, Math.min(1.1, 1.2 * Math.cbrt(mass / heaviest))); for (const shade of [2, 3]) marks.push([octants(ball, shade === 3), [r, 0, 0, com[0], 0, r, 0, com[1], 0, 0, r, com[2], 1, 1, 1, 0, body, shade]]); }
    const triads = [], triad = (m, body) => { for (let k = 0; k < 3; k++) { const o = [m[3], m[7], m[11]], z = [m[k], m[4 + k], m[8 + k]]; triads.push(...stretched(o, add(o, z, 5 * scene.radius), 0.22 * scene.radius), ...rgb(AXES[k]), 0, body, 1); } };
    scene.bodies.forEach((_, body) => triad([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], body)); for (const [, body, m] of scene.frames) triad(m, body);
    const kept = { scene, batches, shades, lines: gl.lines(lines), masses: gl.batch(marks), triads: gl.batch([[unit_cylinder(8), triads]]), moving: gl.batch(), arrows: gl.batch(), rod: unit_cylinder(around), coils: unit_coils(), shaft: unit_cylinder(10) };
    this.kept.set(key, kept); return kept;
  }

  // The rows of all bodies of a segment at a time, motion after motion.
  rows_at(segment, t, out, to) {
    const { bodies, motions, carriers } = segment, times = segment.t; let k = 0, j = times.length - 1;
    while (j - k > 1) { const m = (k + j) >> 1; if (times[m] <= t) k = m; else j = m; }
    const s = times.length > 1 ? Math.min(Math.max((t - times[k]) / (times[j] - times[k]), 0), 1) : 0, p = new Float64Array(7);
    for (let m = 0; m < motions; m++) {
      for (let b = 0; b < bodies; b++) {
        this.pose_at(segment, (m * times.length + k) * bodies + b, (m * times.length + j) * bodies + b, s, p);
        if (m === 0 && out === this.rows && to === 0) for (let i = 0; i < 7; i++) this.now[7 * b + i] = p[i];
        rows_of(p, 0, out, to + 12 * (m * carriers + b));
      }
      this.bend(segment, m * times.length + k, m * times.length + j, s, out, to + 12 * m * carriers);
    }
    return s === 1 ? j : k;
  }

  // A pose between two, as far between what is and what is exaggerated most as is asked for.
  pose_at(segment, a, b, s, p) {
    const { most } = this.data, w = segment.larger && most > 1 ? (this.exaggerate - 1) / (most - 1) : 0;
    blend(segment.poses, 7 * a, segment.poses, 7 * b, s, p); if (!w) return;
    const q = new Float64Array(7); blend(segment.larger, 7 * a, segment.larger, 7 * b, s, q); blend(p, 0, q, 0, w, p);
  }

  // The rows of the stations of flexible bodies behind those of the bodies, for amplitudes between two frames.
  bend(segment, a, b, s, out, to) {
    const { amplitudes: x, modes } = segment; if (!x || !modes) return;
    const local = new Float64Array(12);
    for (const f of segment.flexings) {
      const eta = new Float64Array(f.modes); for (let i = 0; i < f.modes; i++) eta[i] = this.exaggerate * ((1 - s) * x[a * modes + f.at + i] + s * x[b * modes + f.at + i]);
      for (let n = 0; n < f.s.length / 3; n++) { station(f, n, eta, local); compose(out, to + 12 * f.body, local, out, to + 12 * (f.first + n)); }
    }
  }

  draw(now) {
    const { data, renderer: gl, options } = this; if (!gl || gl.gl.isContextLost()) { this.show_time(now); return; }
    const segment = this.segment_at(data.segments, this.time), ghost = data.ghost.length ? this.segment_at(data.ghost, this.time) : null;
    const kept = this.kept_scene(segment.scene), { scene } = kept, count = segment.carriers * segment.motions, total = 12 * (count + (ghost ? ghost.carriers : 0));
    if (!this.rows || this.rows.length !== total) this.rows = new Float32Array(total);
    if (!this.now || this.now.length !== 7 * segment.bodies) this.now = new Float64Array(7 * segment.bodies);
    const index = this.rows_at(segment, this.time, this.rows, 0);
    if (ghost) this.rows_at({ ...ghost, motions: 1 }, this.time, this.rows, 12 * count);
    gl.set_poses(this.rows); this.follow(scene);
    const style = getComputedStyle(this.root), colour = (name) => rgb(style.getPropertyValue(name).trim());
    const eye = this.eye, camera = eye.matrix(), light = unit_of(add(add(scaled(eye.towards, scene.camera.planar ? 1.2 : 0.55), eye.up, 0.75), eye.right, -0.4));
    const look = { camera, light, up: eye.up, towards: eye.towards, paper: colour("--scene"), lift: style.getPropertyValue("--dark").trim() === "1" ? 1 : 0, size: [this.stage.clientWidth, this.stage.clientHeight], floor: colour("--floor"), grid: colour("--grid"), shade: colour("--shadow") };
    this.spans(kept); this.look = look;
    const solids = [...kept.batches, kept.moving];
    look.shadows = this.shadows(scene, kept, solids); gl.begin(look);
    if (scene.has_grid && options.floor) {
      const [low, high] = data.bounds, centre = scaled(add(low, high), 0.5), level = Math.min(dot(low, eye.up), dot(high, eye.up)) - 0.15 * eye.radius;
      gl.draw_floor({ centre: add(centre, eye.up, level - dot(centre, eye.up)), first: eye.first, second: eye.second, reach: 3 * eye.radius, spacing: round_length(eye.radius / 3), is_open: true });
    }
    if (scene.floor && options.floor) {
      const [low, high] = data.bounds, up = eye.up, level = (data.floor === null ? Math.min(dot(low, up), dot(high, up)) : data.floor) - 0.002 * eye.radius, centre = scaled(add(low, high), 0.5);
      const wide = Math.max(eye.radius * 1.9, 1e-6), spacing = round_length(eye.radius / 4);
      gl.draw_floor({ centre: add(centre, up, level - dot(centre, up)), first: eye.first, second: eye.second, reach: wide, spacing, hides: dot(eye.towards, up) > 0 });
    }
    const bent = scene.flexings.find((f) => f.body === this.chosen);
    gl.draw(solids, { chosen: [this.chosen || 0, bent ? bent.first : 0, bent ? bent.first + bent.s.length / 3 : 0] });
    gl.draw_lines(kept.lines);
    this.draw_trails(segment, index);
    if (options.cloud) for (let m = 1; m < segment.motions; m++) gl.draw(kept.batches, { offset: m * segment.carriers, alpha: Math.max(0.12, 0.5 / segment.motions ** 0.5) });
    if (ghost && options.ghost) gl.draw(this.kept_scene(ghost.scene).batches, { offset: count, alpha: 0.35 });
    const arrows = this.arrow_rows(segment, index, scene); gl.fill(kept.arrows, [[kept.shaft, arrows]]);
    if (arrows.length || options.masses || options.frames) {
      gl.forget_depth(); gl.draw([kept.arrows]);
      if (options.frames) gl.draw([kept.triads]);
      if (options.masses) gl.draw([kept.masses]);
    }
    this.place_names(scene, camera); this.draw_gizmo(); this.show_time(now); this.frames_drawn++; if (this.live) this.keep_inside(scene, camera); if (this.hosts.drawn) this.hosts.drawn(camera);
  }

  // Shadows from part to part and onto the floor, in the light of a sun that stays where it is in space. A processor that
  // draws by itself has none while it is in a hurry, and coarse ones while it plays.
  shadows(scene, kept, solids) {
    const { eye, options, renderer: gl, data } = this; if (scene.camera.planar || !options.floor || (gl.is_software && (this.busy || scene.bodies.length > 250))) return null;
    const [low, high] = data.bounds, sun = unit_of(add(add(eye.up, eye.first, -0.28), eye.second, -0.22)); gl.is_coarse = gl.is_software && this.playing;
    return gl.cast_shadows(gl.is_coarse ? [...kept.shades, kept.moving] : solids, { sun, centre: scaled(add(low, high), 0.5), radius: 0.55 * size_of(add(high, low, -1)) + 4 * scene.radius, size: gl.is_software ? (this.playing ? 512 : 1024) : 2048 });
  }

  // The axes of ground as the eye sees them, in a corner; what points away is drawn first and fainter.
  draw_gizmo() {
    const { right, above, towards } = this.eye, key = [...right, ...above].map((x) => x.toFixed(3)).join(); if (this.turned === key) return; this.turned = key;
    const axes = ["x", "y", "z"].map((name, k) => ({ name, k, x: 21 * right[k], y: -21 * above[k], far: towards[k] })).sort((a, b) => a.far - b.far);
    this.gizmo.innerHTML = axes.map(({ name, k, x, y, far }) => (Math.hypot(x, y) < 2 ? "" : `<g opacity="${far < -0.05 ? 0.55 : 1}"><line x2="${x.toFixed(1)}" y2="${y.toFixed(1)}" stroke="${AXES[k]}" stroke-width="2.5" stroke-linecap="round"/><text x="${(1.28 * x).toFixed(1)}" y="${(1.28 * y + 3.5).toFixed(1)}" fill="${AXES[k]}">${name}</text></g>`)).join("");
  }

  spans({ scene, rod, coils, moving }) {
    const rod_rows = [], coil_rows = [], { rows } = this;
    for (const [, form, colour, a, p, b, r, radius] of scene.spans) {
      if (form !== "rod" && form !== "coils" && form !== "damper") continue;
      const start = carried(rows, a, p), end = carried(rows, b, r), way = add(end, start, -1), long = size_of(way);
      if (long < 0.4 * radius) continue;
      const tint = rgb(colour);
      if (form === "coils") coil_rows.push(...stretched(start, end, 1.15 * radius), ...tint, 65535, 0, 1);
      else if (form === "rod") rod_rows.push(...stretched(start, end, radius), ...tint, 65535, 0, 1);
      else {
        rod_rows.push(...stretched(start, add(start, way, 0.6), 0.9 * radius), ...tint, 65535, 0, 1);
        rod_rows.push(...stretched(add(start, way, 0.5), end, 0.4 * radius), ...tint, 65535, 0, 1);
      }
    }
    this.renderer.fill(moving, [[rod, rod_rows], [coils, coil_rows]]);
  }

  // The arrows of a segment that are shown, and the sizes [N, N m] that have the usual length: one scale for the whole
  // motion, whatever its structure is now.
  shown_arrows(segment) { return segment.arrows.filter((a) => this.options[a.group] && (this.options.moments || !a.moment)); }

  arrow_scale() {
    const sizes = Object.entries(this.data.sizes).filter(([group]) => this.options[group]).map(([, pair]) => pair);
    return [0, 1].map((k) => Math.max(...sizes.map((pair) => pair[k]), 0));
  }

  // Where an arrow starts and ends at a frame, for the row of what carries it.
  arrow_ends(arrow, frame, rows, carrier, scene, scale) {
    const at = 3 * frame, v = [0, 1, 2].map((k) => (arrow.vectors[at + k] / 32767) * arrow.largest);
    let start = carried(rows, carrier, arrow.point); if (arrow.offset) start = add(start, arrow.offset.subarray(at, at + 3), 1);
    return [start, add(start, v, (scene.longest * this.options.scale) / (scale[+arrow.moment] || 1))];
  }

  arrow_rows(segment, index, scene) {
    const rows = [], scale = this.arrow_scale();
    for (const arrow of this.shown_arrows(segment)) {
      const [start, tip] = this.arrow_ends(arrow, index, this.rows, arrow.body, scene, scale), way = add(tip, start, -1), long = size_of(way); if (long < 0.5 * scene.radius) continue;
      const d = scaled(way, 1 / long), r = 0.42 * scene.radius, head = Math.min(3.2 * r, 0.6 * long);
      let tint = rgb(this.data.groups[arrow.group]); if (arrow.moment) tint = tint.map((x) => 0.55 + 0.45 * x);
      rows.push(...stretched(start, add(tip, d, -head), r * 0.8), ...tint, 65535, 0, 1, ...stretched(add(tip, d, -head), tip, 2 * r), ...tint, 65535, 0, 0);
      // A moment has two heads, as in textbooks.
      if (arrow.moment) rows.push(...stretched(add(tip, d, -1.7 * head), add(tip, d, -0.7 * head), 2 * r), ...tint, 65535, 0, 0);
    }
    this.show_key(segment, scene, scale);
    return rows;
  }

  // A bar as long as an arrow of a round number of newtons, like that of a map, and the largest of the whole motion.
  show_key(segment, scene, scale) {
    const words = [], told = (x) => shown_number(+x.toPrecision(3)), all = this.data.segments.flatMap((s) => this.shown_arrows(s));
    const largest = (moment) => all.reduce((most, a) => (a.moment === moment ? Math.max(most, a.peak) : most), 0);
    let wide = 0;
    if (scale[0]) {
      const pixels = ((scene.longest * this.options.scale) / scale[0]) * (this.stage.clientHeight / (2 * this.eye.distance * Math.tan(this.eye.fov / 2)));
      const power = 10 ** Math.floor(Math.log10(90 / pixels)), round = [5, 2, 1].map((x) => x * power).find((x) => x * pixels <= 90);
      wide = round * pixels; words.push(told(round) + " N", `longest arrow ${told(largest(false))} N`);
    }
    if (scale[1] && this.options.moments) words.push(`${scale[0] ? "" : "longest arrow "}${told(largest(true))} N m`);
    if (this.exaggerate > 1.001 && segment.amplitudes) words.push(`deformations ${told(this.exaggerate)} times`);
    const text = `${wide.toFixed(0)}|${words.join(", ")}`; if (this.keyed === text) return; this.keyed = text;
    this.key.hidden = !words.length; this.key.textContent = words.join(", ");
    if (wide) { const bar = element("i"); bar.style.width = `${wide.toFixed(0)}px`; this.key.prepend(bar); }
  }

  draw_trails(segment, index) {
    if (!this.traced.size || segment.t.length < 2) return;
    if (!this.trails || this.trails.segment !== segment) {
      (this.trail_lines || []).forEach((lines) => this.renderer.forget(lines)); this.trail_lines = [];
      const scene = this.data.scenes[segment.scene], rows = new Float32Array(12); this.trails = { segment, lines: [] };
      [...this.traced].forEach((name, n) => {
        const found = scene.points.find((p) => p[0] === name); if (!found) return;
        const [, , body, point] = found;
        const way = Array.from(segment.t, (_, k) => carried(this.row_at(segment, k, body, rows), 0, point)), data = [];
        for (let k = 0; k + 1 < way.length; k++) data.push(...way[k], 0, ...way[k + 1], 0, ...rgb(TRACES[n % TRACES.length]), 2, 0);
        const made = this.renderer.lines(data); this.trails.lines.push(made); this.trail_lines.push(made);
      });
    }
    for (const lines of this.trails.lines) { const all = lines.instances; this.renderer.draw_lines(lines, 0.3); lines.instances = index; this.renderer.draw_lines(lines, 1); lines.instances = all; }
  }

  // The row of a body or station at a frame.
  row_at(segment, k, carrier, out) {
    const p = new Float64Array(7), f = segment.flexings.find((x) => carrier >= x.first && carrier < x.first + x.s.length / 3), body = f ? f.body : carrier, at = k * segment.bodies + body;
    this.pose_at(segment, at, at, 0, p); rows_of(p, 0, out, 0); if (!f) return out;
    const eta = segment.amplitudes.slice(k * segment.modes + f.at, k * segment.modes + f.at + f.modes).map((x) => this.exaggerate * x), local = new Float64Array(12);
    station(f, carrier - f.first, eta, local); compose(out, 0, local, out, 0); return out;
  }

  follow(scene) {
    const body = scene.bodies.indexOf(this.options.follow); if (body < 1) return;
    const p = carried(this.rows, body, [0, 0, 0]);
    if (this.followed) this.eye.target = add(this.eye.target, add(p, this.followed, -1)); else this.eye.target = p;
    this.followed = p;
  }

  // A mechanism that is moved out of the picture is fetched back, unless somebody holds it or has chosen the view.
  keep_inside({ labels, radius }, camera) {
    if (this.touched || this.live.grip || this.options.follow) return;
    const points = labels.map(([, , body, point]) => carried(this.rows, body, point));
    if (!points.some((p) => { const [x, y] = this.eye.project(camera, p); return Math.max(Math.abs(x), Math.abs(y)) > 0.96; })) return;
    const [low, high] = this.data.bounds, before = `${low} ${high}`; for (const p of points) for (let i = 0; i < 3; i++) { low[i] = Math.min(low[i], p[i] - 3 * radius); high[i] = Math.max(high[i], p[i] + 3 * radius); }
    if (before !== `${low} ${high}`) this.fit();
  }

  // Names are put beside their points where no other name is.
  place_names(scene, camera) {
    const shown = { body: this.options.bodies, joint: this.options.joints, frame: this.options.points }, wanted = scene.labels.filter(([kind]) => shown[kind]);
    if (this.named !== wanted.map((l) => l[0] + l[1]).join("\n")) {
      this.named = wanted.map((l) => l[0] + l[1]).join("\n"); this.names.replaceChildren();
      this.tags = wanted.map(([kind, name]) => { const tag = element("span", kind, name); this.names.append(tag); return tag; });
      this.sizes = (this.tags || []).map((tag) => [tag.offsetWidth, tag.offsetHeight]);
    }
    const w = this.stage.clientWidth, h = this.stage.clientHeight, taken = [];
    // The bar of tools, the title and the scale of arrows stay free of names.
    taken.push([0, 0, w, 44]); if (!this.key.hidden) taken.push([0, 0, this.key.offsetLeft + this.key.offsetWidth, this.key.offsetTop + this.key.offsetHeight]);
    wanted.forEach(([, , body, point], k) => {
      const [x, y, depth] = this.eye.project(camera, carried(this.rows, body, point)), tag = this.tags[k], [a, b] = this.sizes[k];
      const sx = ((x + 1) / 2) * w, sy = ((1 - y) / 2) * h, inside = depth > 0 && sx > 0 && sx < w && sy > 0 && sy < h;
      const places = [[10, -b - 4], [-a - 10, -b - 4], [10, 4], [-a - 10, 4], [-a / 2, -b - 12], [-a / 2, 12], [18, -b / 2], [-a - 18, -b / 2]];
      let best = null;
      if (inside) for (const [dx, dy] of places) {
        const box = [sx + dx, sy + dy, sx + dx + a, sy + dy + b];
        if (box[0] < 2 || box[1] < 2 || box[2] > w - 2 || box[3] > h - 2) continue;
        if (!taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) { best = box; break; }
      }
      tag.style.visibility = best ? "visible" : "hidden";
      if (best) { taken.push(best); tag.style.transform = `translate(${best[0].toFixed(1)}px, ${best[1].toFixed(1)}px)`; }
    });
  }

  show_time(now) {
    if (!this.slider) return;
    // Painting the page costs a processor that also draws the scene more than the scene itself.
    if (this.playing && this.renderer && this.renderer.is_software && now - (this.painted || 0) < 90) return;
    this.painted = now; this.slider.value = this.time;
    const digits = Math.max(2, Math.min(6, 3 - Math.floor(Math.log10(this.end - this.start)))), text = `${this.time.toFixed(digits)} s`;
    if (this.clock.textContent !== text) this.clock.textContent = text;
    const values = !this.playing || now - (this.told || 0) > 120; if (values) this.told = now;
    // Plots that show a part of the time turn the page.
    if (this.playing && this.is_zoomed && (this.time < this.window[0] || this.time > this.window[1])) this.zoom([this.time, this.time + this.window[1] - this.window[0]]);
    for (const plot of this.plots) { if (this.grows) { plot.until = this.time; if (values) plot.draw(); } plot.show(this.time, values); }
  }

  // What moves the eye.

  pointers() {
    const { canvas } = this, held = new Map(); let grip = null, pressed = null, apart = 0;
    const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top, box.width, box.height]; };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId); pressed = place(event); held.set(event.pointerId, pressed);
      if (held.size === 1 && event.button === 0 && this.live && this.live.grabs !== false && !event.shiftKey) { grip = this.grab(place(event)); if (grip) this.live.drag_start(grip); }
      if (held.size === 2) { const [a, b] = [...held.values()]; apart = Math.hypot(a[0] - b[0], a[1] - b[1]); }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held.has(event.pointerId)) { if (this.live && this.live.grabs !== false && event.pointerType === "mouse") this.hover(place(event)); return; }
      const was = held.get(event.pointerId), is = place(event), dx = is[0] - was[0], dy = is[1] - was[1]; held.set(event.pointerId, is);
      // A hand that trembles while it clicks does not drag.
      if (grip && pressed) { if (Math.hypot(is[0] - pressed[0], is[1] - pressed[1]) < 3) return; pressed = null; }
      if (grip) { this.live.drag(this.eye.at_distance((2 * is[0]) / is[2] - 1, 1 - (2 * is[1]) / is[3], grip.far)); return; }
      this.touched = true;
      if (held.size === 2) {
        const [a, b] = [...held.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (apart && now) this.eye.distance *= apart / now; apart = now; this.eye.pan(dx / 2, dy / 2, is[3]);
      } else if (event.buttons & 6 || event.shiftKey) this.eye.pan(dx, dy, is[3]);
      else if (this.hosts.flat) this.eye.pan(dx, dy, is[3]);
      else this.eye.turn(dx * 0.008, dy * 0.008);
      this.hurry();
    });
    const release = (event) => { held.delete(event.pointerId); if (grip && !held.size) { this.live.drag_end(); grip = null; } };
    canvas.addEventListener("pointerup", release); canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.touched = true; this.eye.distance *= Math.exp(Math.max(-50, Math.min(50, event.deltaY)) * 0.004); this.hurry(); }, { passive: false });
    canvas.addEventListener("dblclick", () => this.fit());
  }

  // What is under a place of the picture: part, body (0 is ground), the point of it there and how far that is from the eye.
  under([x, y, w, h]) {
    const kept = this.kept_scene(this.segment_at(this.data.segments, this.time).scene, false), { canvas } = this;
    const found = this.renderer.pick(kept.batches, this.look, Math.floor((x / w) * canvas.width), Math.floor((1 - y / h) * canvas.height));
    this.redraw();
    if (!found || found.part >= kept.scene.parts.length) return null;
    const [name, role, , carrier] = kept.scene.parts[found.part], on = kept.scene.flexings.find((f) => carrier >= f.first && carrier < f.first + f.s.length / 3), body = on ? on.body : carrier;
    const point = this.eye.point((2 * x) / w - 1, 1 - (2 * y) / h, found.depth);
    return { part: found.part, carrier, body, name, role, point, far: this.eye.distance_of(point), scene: kept.scene };
  }

  // What can be taken hold of there.
  grab(at) { const found = this.under(at); return found && found.body ? found : null; }

  hover(at) {
    if (this.hovering) return; this.hovering = true;
    requestAnimationFrame(() => { this.hovering = false; const found = this.grab(at); this.canvas.style.cursor = found ? "grab" : ""; const body = found ? found.body : 0; if (body !== this.chosen) { this.chosen = body; this.redraw(); } });
  }

  // A page that is nothing but a player listens everywhere; one among others where it has the focus.
  keys() {
    const place = this.root.parentElement === document.body ? document : this.root;
    if (this.hosts.keys === false) return;
    place.addEventListener("keydown", (event) => {
      const at = event.target, { key } = event; if (event.ctrlKey || event.metaKey || event.altKey) return;
      const writes = at.matches && at.matches("select, textarea, input:not([type=checkbox]):not([type=range]), [contenteditable]");
      // Buttons take the space bar, sliders the arrows; the slider of time is ours.
      const own = at !== this.slider && at.matches && ((at.matches("button, input, summary") && (key === " " || key === "Enter")) || (at.matches("input[type=range]") && /^(Arrow|Home|End)/.test(key)));
      if ((writes || own) && key !== "Escape") return;
      const act = { " ": () => this.toggle(), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), Home: () => this.set_time(this.start), End: () => this.set_time(this.end), l: () => this.loop_button && this.loop_button.click(), f: () => this.fit(), ...this.zoom_keys(), ",": () => this.to_event(-1), ".": () => this.to_event(1), Escape: () => { this.root.querySelector(".options").hidden = true; if (this.list) this.list.hidden = true; } }[key];
      if (act) { event.preventDefault(); act(); }
    });
  }

  zoom_keys() { return this.plots.length ? { "+": () => this.zoom_by(0.5), "=": () => this.zoom_by(0.5), "-": () => this.zoom_by(2), 0: () => this.zoom(null) } : {}; }

  // The poses of bodies as they are drawn now, {name: [x, y, z, w, x, y, z]}.
  poses() {
    const { bodies } = this.data.scenes[this.segment_at(this.data.segments, this.time).scene];
    return Object.fromEntries(bodies.map((name, k) => [name, Array.from(this.now.subarray(7 * k, 7 * k + 7))]));
  }
}
