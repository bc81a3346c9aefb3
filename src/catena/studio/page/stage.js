// The scene with what is drawn on it: the player of runs and views, and over it the points and bars of a linkage, which
// follow the eye. Tools are told where the pointer is in the plane of the drawing, x to the right and z up, in metres.

import { Player, shown_number } from "./player.js";
import { PLACES } from "./build.js";
import { direction_of, feature_at, out_of } from "./features.js";
import { act, ask, drop, in_space, picks, say, selected, shown_run, state, tool, try_act } from "./store.js";

const NEAR = 12; // pixels within which a point is meant
const TOOLS = 50; // pixels that the tools above the scene take
const SVG = "http://www.w3.org/2000/svg";
const make = (tag, given = {}, text) => { const made = document.createElementNS(SVG, tag); for (const [key, value] of Object.entries(given)) made.setAttribute(key, value); if (text !== undefined) made.textContent = text; return made; };

export class Stage {
  constructor(root, plots) {
    this.overlay = make("svg", { class: "drawing", "aria-hidden": "true" }); this.paper = make("svg", { class: "drawing paper", "aria-hidden": "true" }); this.preview = null; this.moved = null; this.updates = 0;
    this.hosts = { aside: plots, keys: false, flat: true, drawn: (camera) => this.draw(camera) };
    this.player = new Player(root, this.scene(), this.hosts); this.revision = state.value.revision;
    this.player.canvas.after(this.paper, this.overlay); this.tip = document.createElement("p"); this.tip.className = "tip"; this.tip.hidden = true; this.player.stage.append(this.tip);
    this.player.live = this; this.busy = false; this.grip = null; this.player.touched = true; this.opened = this.about();
    this.q = state.value.scene.live ? state.value.scene.live.q : null; this.hosts.flat = this.player.planar;
    window.catena = window.catena || {}; window.catena.studio = this.player; window.catena.stage = this;
    this.listen();
  }

  // What is shown of the text. Where somebody builds in space the eye looks from an angle, whatever there is so far.
  scene() {
    const scene = structuredClone(state.value.scene); if (!in_space.value) return scene;
    const [first] = scene.scenes; if (!first.camera.planar && state.value.scene.live) return scene;
    first.camera = { towards: [0.55, -0.75, 0.42], up: [0, 0, 1], planar: false }; first.floor = state.value.parts.gravity !== 0; first.has_grid = !first.floor;
    if (!state.value.scene.live) scene.bounds = [[-0.6, -0.6, 0], [0.6, 0.6, 0.5]];
    return scene;
  }

  // Bodies are taken hold of by the tool that selects only; the others point at them.
  get grabs() { return this.is_run || tool.value === "select"; }

  get is_run() { return shown_run.value !== null; }
  get drawing() { const { points, bars } = state.value.drawing; return { points: this.moved ? Object.fromEntries(Object.entries(points).map(([name, point]) => [name, this.moved[name] ? { ...point, at: this.moved[name] } : point])) : points, bars }; }

  // Show the drawing or a run, as the page says.
  show() {
    const run = shown_run.value;
    if (run) {
      if (this.shows === run) return;
      const time = this.shows && this.shows.movie ? this.player.time : null, was_playing = this.player.playing;
      this.player.load(structuredClone(run.movie)); if (run.ghost) this.set_ghost(run.ghost);
      if (!this.sees_all()) this.player.fit();
      if (time !== null) { this.player.set_time(time); if (was_playing) this.player.play(); }
      this.shows = run;
    } else if ((this.shows && !this.shows.is_wiggle) || this.revision !== state.value.revision || this.opened !== this.about()) {
      this.player.load(this.scene(), this.opened !== this.about()); this.opened = this.about(); this.shows = null; this.moved = null;
    }
    // The eye stays when the room around the scene changes; whoever wants to see all of it says so.
    this.player.touched = true; this.revision = state.value.revision; this.hosts.flat = this.player.planar;
    this.q = state.value.scene.live ? state.value.scene.live.q : null;
    this.use_tool();
  }

  about() { return `${state.value.name} ${in_space.value}`; }

  // Whether everything that the movie shows is inside the picture.
  sees_all() {
    const [low, high] = this.player.data.bounds, { eye } = this.player, camera = eye.matrix();
    for (let k = 0; k < 8; k++) { const [x, y] = eye.project(camera, [k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]]); if (Math.max(Math.abs(x), Math.abs(y)) > 0.97) return false; }
    return true;
  }

  // A way in which it can move, played until something else is done.
  wiggle(movie) { this.player.load(structuredClone(movie)); this.player.touched = true; this.shows = { is_wiggle: true }; this.use_tool(); this.player.play(); }

  end_wiggle() { if (this.shows && this.shows.is_wiggle) { this.shows = {}; this.show(); } }

  set_ghost(movie) {
    const other = structuredClone(movie);
    for (const plot of this.player.plots) { const same = other.panels.find((panel) => panel.title === plot.panel.title); if (same) plot.ghost = read_panel(same); plot.draw(); }
  }

  // Between the plane of the drawing and pixels of the stage.
  pixel([x, z]) { const { eye, look, stage } = this.player, p = eye.project(look.camera, [x, 0, z]); return [((p[0] + 1) / 2) * stage.clientWidth, ((1 - p[1]) / 2) * stage.clientHeight]; }
  place([sx, sy]) { const { eye, stage } = this.player, p = eye.at_distance((2 * sx) / stage.clientWidth - 1, 1 - (2 * sy) / stage.clientHeight, eye.distance_of([0, 0, 0])); return [p[0], p[2]]; }
  get step() { const a = this.pixel([0, 0]), b = this.pixel([1, 0]), metre = Math.abs(b[0] - a[0]) || 1; for (let power = -5; power < 6; power++) for (const x of [1, 2, 5]) if (x * 10 ** power * metre >= 16) return x * 10 ** power; return 1; }

  // Tools that draw take the pointer; otherwise the player has it.
  use_tool() { this.overlay.style.pointerEvents = this.is_run || tool.value === "select" || !this.player.planar || in_space.value ? "none" : "all"; this.overlay.style.cursor = "crosshair"; this.player.redraw(); }

  // What a pixel means: a point that is there, or a place, on the grid unless Alt is held.
  meant(at, free = false, except = "") {
    let best = null; for (const [name, { at: place }] of Object.entries(this.drawing.points)) { if (name === except) continue; const p = this.pixel(place), far = Math.hypot(p[0] - at[0], p[1] - at[1]); if (far < NEAR && (!best || far < best.far)) best = { name, place, far }; }
    if (best) return { point: best.name, place: best.place };
    const place = this.place(at), { step } = this; return { place: free ? place : place.map((x) => +(Math.round(x / step) * step).toFixed(9)) };
  }

  bar_at(at) {
    let best = null; const { points, bars } = this.drawing;
    for (const [name, { ends }] of Object.entries(bars)) { if (!points[ends[0]] || !points[ends[1]]) continue; const a = this.pixel(points[ends[0]].at), b = this.pixel(points[ends[1]].at), d = [b[0] - a[0], b[1] - a[1]], l = d[0] ** 2 + d[1] ** 2 || 1, s = Math.max(0, Math.min(1, ((at[0] - a[0]) * d[0] + (at[1] - a[1]) * d[1]) / l)), far = Math.hypot(at[0] - a[0] - s * d[0], at[1] - a[1] - s * d[1]); if (far < NEAR && (!best || far < best.far)) best = { name, far }; }
    return best && best.name;
  }

  draw(camera) {
    if (!this.player.look) return;
    const { overlay, paper, player } = this, w = player.stage.clientWidth, h = player.stage.clientHeight; for (const each of [overlay, paper]) each.setAttribute("viewBox", `0 0 ${w} ${h}`);
    const facing = Math.abs(player.eye.towards[1]) > 0.999; const parts = [], grid = [];
    if (!this.is_run && !(this.shows && this.shows.is_wiggle) && player.planar && facing) {
      const { step } = this, [x0, z1] = this.place([0, 0]), [x1, z0] = this.place([w, h]);
      const line = (a, b, strong) => { const [p, q] = [this.pixel(a), this.pixel(b)]; grid.push(make("line", { x1: p[0], y1: p[1], x2: q[0], y2: q[1], class: strong ? "grid axis" : "grid" })); };
      for (let x = Math.ceil(x0 / (5 * step)) * 5 * step; x <= x1; x += 5 * step) line([x, z0], [x, z1], Math.abs(x) < 1e-9);
      for (let z = Math.ceil(z0 / (5 * step)) * 5 * step; z <= z1; z += 5 * step) line([x0, z], [x1, z], Math.abs(z) < 1e-9);
      const { points, bars } = this.drawing, scene_has = !!state.value.scene.live && !state.value.unfinished, chosen = selected.value || {};
      // Names stand beside what is drawn of a pin.
      const beside = scene_has ? Math.max(9, 5 + 1.3 * player.data.scenes[0].radius * Math.abs(this.pixel([1, 0])[0] - this.pixel([0, 0])[0])) : 9;
      for (const [name, bar] of Object.entries(bars)) {
        if (!points[bar.ends[0]] || !points[bar.ends[1]]) continue;
        const a = this.pixel(points[bar.ends[0]].at), b = this.pixel(points[bar.ends[1]].at), is_chosen = chosen.kind === "bar" && chosen.name === name;
        parts.push(make("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: `bar${scene_has ? " built" : ""}${is_chosen ? " chosen" : ""}`, "data-bar": name }));
        if (is_chosen || tool.value === "bar") parts.push(make("text", { x: (a[0] + b[0]) / 2 + 8, y: (a[1] + b[1]) / 2 - 6, class: "length" }, `${shown_number(+bar.length.toPrecision(4))} m`));
      }
      for (const [name, point] of Object.entries(points)) {
        const [x, y] = this.pixel(point.at), is_chosen = chosen.kind === "point" && chosen.name === name;
        if (point.sort === "fixed" && !scene_has) { parts.push(make("path", { d: `M${x - 10} ${y + 14}H${x + 10}M${x} ${y}L${x - 8} ${y + 14}M${x} ${y}L${x + 8} ${y + 14}M${x - 8} ${y + 20}l6 -6M${x - 1} ${y + 20}l6 -6M${x + 6} ${y + 20}l6 -6`, class: "ground" })); }
        parts.push(make("circle", { cx: x, cy: y, r: is_chosen ? 7 : 5, class: `point ${point.sort}${is_chosen ? " chosen" : ""}`, "data-point": name }), this.name_of(name, point, [x, y], beside));
      }
      if (this.preview) {
        const { from, to, words } = this.preview, a = this.pixel(from), b = this.pixel(to);
        parts.push(make("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: "preview" }), make("circle", { cx: b[0], cy: b[1], r: this.preview.snaps ? 9 : 5, class: `preview${this.preview.snaps ? " snaps" : ""}` }), make("text", { x: b[0] + 14, y: b[1] - 12, class: "length" }, words));
      }
    }
    if (in_space.value && !this.is_run) parts.push(...this.marks());
    overlay.replaceChildren(...parts); paper.replaceChildren(...grid);
  }

  // The name of a point in that of four corners about it which bars, the ground and the tools above leave free.
  name_of(name, point, [x, y], beside) {
    const { points, bars } = this.drawing, ways = Object.values(bars).filter(({ ends }) => ends.includes(name)).map(({ ends }) => points[ends[0] === name ? ends[1] : ends[0]]).filter(Boolean).map(({ at }) => this.pixel(at)).map((p) => { const d = [p[0] - x, p[1] - y], l = Math.hypot(...d) || 1; return [d[0] / l, d[1] / l]; });
    const [dx, dy] = [[1, -1], [-1, -1], [1, 1], [-1, 1]].map((d) => [d, Math.max(-1, ...ways.map((w) => 0.7 * (w[0] * d[0] + w[1] * d[1]))) + (d[1] > 0 && point.sort !== "free" ? 2 : 0) + (d[1] < 0 && y < beside + TOOLS ? 3 : 0)]).reduce((a, b) => (b[1] < a[1] - 0.3 ? b : a))[0];
    return make("text", { x: x + dx * beside, y: y + dy * beside + (dy > 0 ? 8 : 2), class: "name", "text-anchor": dx > 0 ? "start" : "end" }, name);
  }

  // The features that are pointed at: a ring, and a line along the axis.
  marks() {
    const { rows, eye, look } = this.player, shown = this.pointed && tool.value in PLACES && picks.value.length < PLACES[tool.value] ? [...picks.value, this.pointed] : picks.value; if (!rows) return [];
    const flat = (p) => { const q = eye.project(look.camera, p); return [((q[0] + 1) / 2) * this.player.stage.clientWidth, ((1 - q[1]) / 2) * this.player.stage.clientHeight]; };
    return shown.flatMap((each, k) => {
      const at = out_of(rows, each.index, each.p), way = direction_of(rows, each.index, each.z), long = 0.16 * eye.distance * Math.tan(eye.fov / 2), [x, y] = flat(at), [a, b] = [-1, 1].map((s) => flat(at.map((q, i) => q + s * long * way[i]))), is_set = k < picks.value.length;
      return [make("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: `feature${is_set ? " set" : ""}` }), make("circle", { cx: x, cy: y, r: 7, class: `feature${is_set ? " set" : ""}` }), make("text", { x: x + 12, y: y - 10, class: "length" }, each.words)];
    });
  }

  // The feature under a pixel, with what forms want to know of it.
  feature(at) {
    const { player } = this, found = feature_at(player, [...at, player.stage.clientWidth, player.stage.clientHeight], 0.05); if (!found) return null;
    const world = out_of(player.rows, found.index, found.p), row = (index) => player.rows.slice(12 * index, 12 * index + 12), own = row(found.index);
    // The rotation of this body seen from another one, row by row.
    const turned_from = (index) => { const a = row(index); return [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => a[i] * own[j] + a[4 + i] * own[4 + j] + a[8 + i] * own[8 + j])); };
    return { ...found, world, turned_from };
  }

  // A click in space: a feature for what is built, or what is chosen.
  point_at(at) {
    if (tool.value in PLACES) { const found = this.feature(at); if (!found) { say("Click the floor or a body."); return; } const room = PLACES[tool.value]; picks.value = [...picks.value.slice(0, room - 1), found]; say(""); this.player.redraw(); return; }
    const found = this.player.grab([...at, this.player.stage.clientWidth, this.player.stage.clientHeight]), { joints } = state.value.parts, joint = found && found.role !== "body" && joints.some((one) => one.name === found.name) ? found.name : "";
    // A motor on a body drives the joint that the body hangs on.
    const held = found && !joint ? joints.filter((one) => one.child === found.scene.bodies[found.body] && one.freedom === 1) : [];
    if (tool.value === "motor" && held.length === 1) { selected.value = { kind: "joint", name: held[0].name }; this.give_motor(held[0].name); return; }
    if (tool.value === "motor") { if (joint) { selected.value = { kind: "joint", name: joint }; this.give_motor(joint); } else say("Click a joint, the dark part between two bodies, or a body that hangs on one."); return; }
    if (tool.value === "erase") { if (joint) try_act("remove", { sort: "joint", name: joint }); else if (found) try_act("remove body", { body: found.name }); selected.value = null; return; }
    if (tool.value === "trace" && found) this.toggle_trace(found.name);
  }

  // Drawing with the tools.

  listen() {
    const at = (event) => { const box = this.player.stage.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    let start = null;
    this.overlay.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return; event.preventDefault(); this.overlay.setPointerCapture(event.pointerId); document.activeElement && document.activeElement.blur && document.activeElement.blur();
      const found = this.meant(at(event), event.altKey);
      if (["bar", "spring"].includes(tool.value)) { start = found; this.stretch(start, found); } else this.touch(found, at(event));
    });
    this.overlay.addEventListener("pointermove", (event) => {
      if (start) this.stretch(start, this.meant(at(event), event.altKey, start.point)); else if (tool.value === "bar") { const found = this.meant(at(event), event.altKey); this.preview = { from: found.place, to: found.place, words: found.point || "", snaps: !!found.point }; this.player.redraw(); }
    });
    this.overlay.addEventListener("pointerup", async (event) => {
      if (!start) return; const from = start, to = this.meant(at(event), event.altKey, start.point); start = null; this.preview = null; this.player.redraw();
      const far = Math.hypot(to.place[0] - from.place[0], to.place[1] - from.place[1]); if (far < 1e-9) return;
      if (tool.value === "bar") {
        const before = new Set(Object.keys(state.value.drawing.bars)), found = await try_act("add bar", { start: from.point || from.place, end: to.point || to.place });
        if (found) { const name = Object.keys(found.drawing.bars).find((bar) => !before.has(bar)); if (name) selected.value = { kind: "bar", name }; }
      } else {
        const found = await try_act("add spring", { start: from.point || from.place, end: to.point || to.place }); if (found) selected.value = { kind: "spring", name: found.parts.springs[found.parts.springs.length - 1].name };
      }
    });
    this.overlay.addEventListener("pointercancel", () => { start = null; this.preview = null; this.player.redraw(); });
    // The wheel moves the eye whatever tool is chosen.
    this.overlay.addEventListener("wheel", (event) => { this.player.canvas.dispatchEvent(new WheelEvent("wheel", event)); event.preventDefault(); }, { passive: false });
    // A click without a drag chooses what is there.
    let pressed = null; const { canvas } = this.player;
    canvas.addEventListener("pointerdown", (event) => { pressed = at(event); });
    canvas.addEventListener("pointerup", (event) => { const now = at(event); if (pressed && Math.hypot(now[0] - pressed[0], now[1] - pressed[1]) < 4) { if (in_space.value && !this.is_run && tool.value !== "select") this.point_at(now); else this.choose(now); } pressed = null; });
    canvas.addEventListener("pointermove", (event) => { this.hover_arrow(at(event)); if (in_space.value && !this.is_run && tool.value in PLACES && !event.buttons) this.point_soon(at(event)); });
    canvas.addEventListener("pointerleave", () => { this.pointed = null; this.player.redraw(); });
  }

  // What a click would mean, shown as the pointer goes, once a picture at most.
  point_soon(at) { if (this.pointing) return; this.pointing = true; requestAnimationFrame(() => { this.pointing = false; this.pointed = this.feature(at); this.player.redraw(); }); }

  stretch(from, to) {
    const d = [to.place[0] - from.place[0], to.place[1] - from.place[1]], length = Math.hypot(...d);
    this.preview = { from: from.place, to: to.place, snaps: !!to.point, words: `${length.toFixed(3)} m  ${((Math.atan2(d[1], d[0]) * 180) / Math.PI).toFixed(1)}\u00b0${to.point ? `  to ${to.point}` : ""}` }; this.player.redraw();
  }

  async touch(found, at) {
    const point = found.point, bar = this.bar_at(at);
    if (tool.value === "erase") { if (point) await try_act("remove point", { point }); else if (bar) await try_act("remove bar", { bar }); selected.value = null; return; }
    if (!point) { say("Click a point of the drawing."); return; }
    selected.value = { kind: "point", name: point };
    const { sort } = state.value.drawing.points[point];
    if (tool.value === "ground") await try_act(sort === "fixed" ? "free point" : "ground point", { point });
    if (tool.value === "slider") await try_act(sort === "slides" ? "free point" : "slide point", { point });
    if (tool.value === "motor") await this.give_motor(point);
    if (tool.value === "trace") this.toggle_trace(point);
  }

  async give_motor(joint) {
    if (state.value.unfinished) { say(state.value.unfinished); return; }
    await try_act("set motor", { joint, speed: "60 rpm" });
  }

  frame_of(point) { return this.player.data.points.some(([name]) => name === point) ? point : `point ${point}`; }
  toggle_trace(point) { const { player } = this, name = this.frame_of(point); player.traced.has(name) ? player.traced.delete(name) : player.traced.add(name); player.trails = null; player.redraw(); say(player.traced.has(name) ? `The way of ${point} is drawn when it runs.` : `The way of ${point} is not drawn any more.`); }

  choose(at) {
    if (!this.is_run && this.player.planar) { const { point } = this.meant(at), bar = this.bar_at(at); if (point || bar) { selected.value = point ? { kind: "point", name: point } : { kind: "bar", name: bar }; this.player.redraw(); return; } }
    const w = this.player.stage.clientWidth, h = this.player.stage.clientHeight, found = this.player.grab([...at, w, h]);
    if (found) selected.value = found.role === "body" ? { kind: "body", name: found.name } : { kind: "joint", name: found.name }; else selected.value = null;
    this.player.redraw();
  }

  // Forces are told where the pointer is near their arrow.
  hover_arrow(at) {
    if (!this.is_run) { if (!this.tip.hidden) this.tip.hidden = true; return; }
    const { player } = this, segment = player.segment_at(player.data.segments, player.time), shown = player.shown_arrows(segment); let best = null;
    if (shown.length && player.look) {
      const scene = player.data.scenes[segment.scene], scale = player.arrow_scale(), { t } = segment; let k = 0; while (k + 1 < t.length && t[k + 1] <= player.time + 1e-12) k++;
      const flat = (p) => { const q = player.eye.project(player.look.camera, p); return [((q[0] + 1) / 2) * player.stage.clientWidth, ((1 - q[1]) / 2) * player.stage.clientHeight]; };
      for (const arrow of shown) {
        const [a3, b3] = player.arrow_ends(arrow, k, player.rows, arrow.body, scene, scale), a = flat(a3), b = flat(b3), d = [b[0] - a[0], b[1] - a[1]], l = d[0] ** 2 + d[1] ** 2 || 1, s = Math.max(0, Math.min(1, ((at[0] - a[0]) * d[0] + (at[1] - a[1]) * d[1]) / l)), far = Math.hypot(at[0] - a[0] - s * d[0], at[1] - a[1] - s * d[1]);
        const size = Math.hypot(...[0, 1, 2].map((i) => (arrow.vectors[3 * k + i] / 32767) * arrow.largest)); if (far < 10 && size > 1e-12 && (!best || far < best.far)) best = { far, words: `${shown_number(+size.toPrecision(3))} ${arrow.moment ? "N m" : "N"} on ${scene.bodies[arrow.body] || "a body"} at ${arrow.name}` };
      }
    }
    this.tip.hidden = !best; if (best) { this.tip.textContent = best.words; this.tip.style.left = `${at[0] + 14}px`; this.tip.style.top = `${at[1] + 10}px`; }
  }

  // Moving the mechanism by the pointer: the player grips, Python closes the loops.

  drag_start(grip) {
    if (!this.is_run && !this.q) return;
    const { rows } = this.player, k = 12 * grip.body, away = [0, 1, 2].map((i) => grip.point[i] - rows[k + 4 * i + 3]), point = [0, 1, 2].map((j) => rows[k + j] * away[0] + rows[k + 4 + j] * away[1] + rows[k + 8 + j] * away[2]);
    this.grip = { body: this.player.data.scenes[0].bodies[grip.body], point }; this.dragged = false; this.player.chosen = grip.body;
    if (this.is_run) this.pull();
  }

  // Pull on the model as it runs: its motion goes on from where it is under the pull of the pointer, and for a moment
  // after it is let go. The run itself stays what it was.
  async pull() {
    const { player } = this, run = shown_run.value, { states } = run; if (this.pulling) return;
    if (!states) { say("A run whose structure changes cannot be pulled.", true); this.grip = null; return; }
    player.pause(); let k = 0; while (k + 1 < states.t.length && states.t[k + 1] <= player.time) k++;
    let now = { t: states.t[k], q: states.q[k], v: states.v[k] }, after = 0; this.pulling = true; this.pulls = 0;
    const segment = player.segment_at(player.data.segments, player.time), kept = { ...segment };
    say("It is pulled; let go to let it run on.");
    try {
      while ((this.grip || after < 25) && shown_run.value === run && !player.playing) {
        if (!this.grip) after++;
        const found = await ask("pull", { ...now, seconds: 0.04, ...(this.grip && this.to ? { body: this.grip.body, point: this.grip.point, to: this.to } : {}) });
        now = { t: found.t, q: found.q, v: found.v }; this.pulled = now; this.pulls++;
        Object.assign(segment, { poses: Float32Array.from(found.poses), t: new Float64Array([player.time]), motions: 1, amplitudes: null, larger: null, arrows: [] }); player.trails = null; player.hurry();
      }
    } catch (error) { say(error.message, true); }
    this.pulling = false; this.to = null; Object.assign(segment, kept); player.trails = null; player.redraw(); say("");
  }

  drag(to) { if (this.is_run) { this.to = to; return; } if (this.grip) { this.dragged = true; this.move({ q: this.q, ...this.grip, to }); } }

  async drag_end() {
    this.grip = null; this.player.chosen = 0; this.player.redraw(); if (this.is_run) return; if (!this.dragged || !this.q) return;
    while (this.busy) await new Promise((done) => setTimeout(done, 10));
    this.dragged = false; try { await drop({ q: this.q }); } catch (error) { say(error.message, true); }
  }

  async move(question) {
    if (this.busy) { this.waiting = question; return; }
    this.busy = true; this.player.hurry(false);
    try {
      for (let next = question; next; ) {
        this.waiting = null; const found = await ask("pose", next); this.q = found.q; this.moved = found.points; this.updates++;
        const segment = this.player.data.segments[0]; segment.poses = Float32Array.from(found.poses); segment.amplitudes = Float32Array.from(found.amplitudes); segment.motions = 1; segment.t = new Float64Array([0]);
        say(found.note || ""); this.player.hurry(); next = this.waiting ? { ...this.waiting, q: this.q } : null;
      }
    } catch (error) { say(error.message, true); } finally { this.busy = false; }
  }
}

function read_panel(panel) {
  const decode = (text, Kind) => { const raw = atob(text), bytes = new Uint8Array(raw.length); for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k); return new Kind(bytes.buffer); };
  return { ...panel, t: decode(panel.t, Float64Array), curves: panel.curves.map((curve) => ({ ...curve, values: decode(curve.values, Float32Array) })) };
}
