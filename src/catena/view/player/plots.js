// Curves over time, drawn by uPlot: one cursor for the time that the scene shows, and one for the pointer, which tells values.

// Six hues that people tell apart whichever colours they see (tests/view/test_hues.py); each further round of them is dashed.
const HUES = ["#3638cc", "#ba8600", "#0098c7", "#cf0063", "#561474", "#822e00"];
const HUES_DARK = ["#9575ea", "#e2471c", "#66f892", "#c15c80", "#e2ffff", "#ffd60c"];
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

function shown_number(x, digits = 4) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(Math.max(digits, 3) - 1).replace(/\.?0+e/, "e").replace("e+", "e") : String(+x.toPrecision(digits));
}

// A number beside an axis, with as many digits as tell it from the next one.
const tick_name = (x, step) => shown_number(x, Math.min(15, Math.max(2, Math.ceil(Math.log10(Math.abs(x) / step || 1)) + 2)));

class Plot {
  // `window` is the time that is shown. `scrub(t)` is told which time somebody points at, `zoom(window)` which to show instead, null for all.
  constructor(parent, panel, window, { scrub, zoom, together }) {
    this.panel = panel; this.window = window; this.hidden = new Set(); this.scrub = scrub; this.zoom = zoom; this.together = together; this.time = window[0];
    this.root = document.createElement("figure");
    this.root.innerHTML = '<figcaption><span></span> <output></output></figcaption><div class="plot"></div><ul class="legend"></ul>';
    this.root.querySelector("figcaption span").textContent = panel.title + (panel.unit ? ` [${panel.unit}]` : "");
    this.box = this.root.querySelector(".plot"); this.pointed = this.root.querySelector("figcaption output");
    this.cursor = document.createElement("div"); this.cursor.className = "cursor";
    const legend = this.root.querySelector("ul");
    this.values = panel.curves.map((curve, k) => {
      const item = document.createElement("li"), button = document.createElement("button"), value = document.createElement("output");
      button.type = "button"; button.setAttribute("aria-pressed", "true");
      button.append(document.createElement("i"), curve.name); button.title = `show or hide ${curve.name}`;
      button.onclick = () => { const shows = this.hidden.delete(k); if (!shows) this.hidden.add(k); button.setAttribute("aria-pressed", String(shows)); if (this.chart) this.chart.setSeries(k + 1, { show: shows }); };
      item.append(button, value); legend.append(item); return value;
    });
    if (panel.left_out) { const item = document.createElement("li"); item.textContent = `and ${panel.left_out} more`; legend.append(item); }
    parent.append(this.root);
  }

  // How a curve is dashed: what accompanies others, and what has the hue of another.
  round(k) { return Math.min(3, Math.floor(k / HUES.length) + (this.panel.curves[k].dashed ? 1 : 0)); }

  // How high a value is drawn; where there is none the line pauses.
  height(y) { const h = this.panel.logarithmic ? Math.log10(y) : y; return Number.isFinite(h) ? h : null; }

  columns() {
    const { panel, until } = this; let count = panel.t.length;
    if (until !== undefined) { count = panel.t.findIndex((t) => t > until); count = count < 0 ? panel.t.length : Math.max(1, count); }
    return [Array.from(panel.t.subarray(0, count)), ...panel.curves.map((curve) => Array.from(curve.values.subarray(0, count), (y) => this.height(y)))];
  }

  // The heights that what is shown of the curves has, and of another run behind them.
  extent() {
    const [a, b] = this.window; let low = Infinity, high = -Infinity, largest = 0;
    const take = (t, { values }) => {
      for (let i = 0; i < values.length; i++) {
        const h = this.height(values[i]); if (h === null) continue; largest = Math.max(largest, Math.abs(h));
        if (t[Math.min(i + 1, t.length - 1)] >= a && t[Math.max(i - 1, 0)] <= b) { low = Math.min(low, h); high = Math.max(high, h); }
      }
    };
    this.panel.curves.forEach((curve, k) => { if (this.hidden.has(k)) return; take(this.panel.t, curve); if (this.ghost && this.ghost.curves[k]) take(this.ghost.t, this.ghost.curves[k]); });
    if (!(low <= high)) { low = 0; high = 1; }
    // What differs by rounding only is a line, not a mountain range.
    const is_flat = high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high)), room = is_flat ? 0.5 * Math.abs(high) || 0.5 : 0.06 * (high - low);
    this.largest = largest; return [low - room, high + room];
  }

  make(width, height) {
    const { panel } = this, hue = (k) => () => this.hues[k % this.hues.length], faint = () => this.faint, grid = { stroke: () => this.line, width: 1 };
    const names = (chart, splits, axis, space, step) => splits.map((x) => (panel.logarithmic ? shown_number(10 ** x, 2) : tick_name(x, step)));
    const times = (chart, splits, axis, space, step) => splits.map((t, k) => tick_name(t, step) + (k ? "" : " s"));
    const size = (chart, texts) => { chart.ctx.font = `${uPlot.pxRatio} ${FONT}`.replace(/^([0-9.]+) 11px/, (_, ratio) => `${11 * ratio}px`); return 10 + Math.max(24, ...(texts || []).map((text) => chart.ctx.measureText(text).width / uPlot.pxRatio)); };
    this.chart = new uPlot({
      width, height, padding: [6, 16, 0, 0], legend: { show: false },
      scales: { x: { time: false, range: () => this.window }, y: { range: () => this.extent() } },
      series: [{}, ...panel.curves.map((curve, k) => ({ stroke: hue(k), width: 1.5, dash: DASHES[this.round(k)], show: !this.hidden.has(k), pxAlign: 0, points: { show: false } }))],
      axes: [{ font: FONT, stroke: faint, grid, ticks: { show: false }, size: 20, gap: 5, space: 60, values: times }, { font: FONT, stroke: faint, grid, ticks: { show: false }, gap: 5, space: 24, size, values: names }],
      cursor: {
        y: false, points: { size: 6 }, drag: { x: true, y: false, setScale: false, dist: 3 }, sync: { key: this.together, setSeries: false, filters: { pub: (sort) => sort === "mousemove" || sort === "mouseleave" } },
        bind: { mousedown: (chart, over, act) => (event) => { if (event.shiftKey) act(event); }, dblclick: () => () => this.zoom(null) },
      },
      hooks: { drawClear: [() => this.colour()], drawAxes: [() => this.draw_ghost()], draw: [() => this.place()], setCursor: [({ cursor }) => this.point(cursor)], setSelect: [(chart) => this.select(chart)] },
    }, this.columns(), this.box);
    const { canvas } = this.chart.ctx; canvas.setAttribute("role", "img"); canvas.setAttribute("aria-label", `${panel.title}: ${panel.curves.map((c) => c.name).join(", ")}`);
    this.chart.over.append(this.cursor); this.listen(this.chart.over);
  }

  // A finger or a button that is held scrubs; two fingers keep the times that they hold under them; Shift and drag, or Ctrl and wheel, zoom.
  listen(over) {
    const held = new Map(), place = (event) => event.clientX - over.getBoundingClientRect().left, time = (x) => this.chart.posToVal(Math.min(Math.max(x, 0), over.clientWidth), "x");
    over.addEventListener("pointerdown", (event) => {
      if (event.button || event.shiftKey) return;
      over.setPointerCapture(event.pointerId); held.set(event.pointerId, { x: place(event), t: time(place(event)) });
      if (held.size === 1) this.scrub(time(place(event)));
    });
    over.addEventListener("pointermove", (event) => {
      if (!held.has(event.pointerId)) return;
      held.get(event.pointerId).x = place(event); const [p, q] = [...held.values()];
      if (!q) { this.scrub(time(p.x)); return; }
      const rate = (q.t - p.t) / (q.x - p.x); if (rate > 0 && Number.isFinite(rate)) this.zoom([p.t - rate * p.x, p.t + rate * (over.clientWidth - p.x)]);
    });
    for (const sort of ["pointerup", "pointercancel"]) over.addEventListener(sort, (event) => held.delete(event.pointerId));
    over.addEventListener("mousemove", (event) => { if (event.buttons & 1 && !event.shiftKey) event.stopImmediatePropagation(); }, { capture: true });
    over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault(); const [a, b] = this.window, t = time(place(event)), factor = Math.exp(Math.max(-50, Math.min(50, event.deltaY)) * 0.01);
      this.zoom([t - factor * (t - a), t + factor * (b - t)]);
    }, { passive: false });
  }

  select(chart) {
    const { left, width } = chart.select; if (width < 3) return;
    const window = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")];
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false); this.zoom(window);
  }

  colour() {
    const style = getComputedStyle(this.box); this.faint = style.getPropertyValue("--faint"); this.line = style.getPropertyValue("--line");
    this.hues = style.getPropertyValue("--dark").trim() === "1" ? HUES_DARK : HUES;
    this.root.querySelectorAll("li i").forEach((mark, k) => { mark.style.borderColor = this.hues[k % this.hues.length]; mark.style.borderTopStyle = ["solid", "dashed", "dotted", "double"][this.round(k)]; });
  }

  // Another run behind: the same curves, thin and grey.
  draw_ghost() {
    if (!this.ghost) return;
    const { ctx: g, bbox } = this.chart, ratio = uPlot.pxRatio;
    g.save(); g.beginPath(); g.rect(bbox.left, bbox.top, bbox.width, bbox.height); g.clip(); g.strokeStyle = this.faint; g.lineWidth = ratio; g.setLineDash([3 * ratio, 3 * ratio]);
    for (const { values } of this.ghost.curves) {
      let on = false; g.beginPath();
      for (let i = 0; i < values.length; i++) { const h = this.height(values[i]); if (h === null) { on = false; continue; } const x = this.chart.valToPos(this.ghost.t[i], "x", true), y = this.chart.valToPos(h, "y", true); on ? g.lineTo(x, y) : g.moveTo(x, y); on = true; }
      g.stroke();
    }
    g.restore();
  }

  // Draw all of it anew; what is folded away has no room and waits.
  draw() {
    const { clientWidth: width, clientHeight: height } = this.box; if (!width || !height) return;
    if (!this.chart) { this.make(width, height); return; }
    const { chart } = this, [min, max] = this.window;
    chart.batch(() => { if (chart.width !== width || chart.height !== height) chart.setSize({ width, height }); chart.setData(this.columns(), false); chart.setScale("x", { min, max }); });
  }

  end() { if (this.chart) this.chart.destroy(); }

  place() {
    const [a, b] = this.window; this.cursor.hidden = this.time < a || this.time > b;
    this.cursor.style.transform = `translateX(${this.chart.valToPos(this.time, "x")}px)`;
  }

  // The time of the scene.
  show(t, with_values) {
    this.time = t; if (!this.chart) return;
    this.place(); if (with_values && !this.pointed.textContent) this.tell(t);
  }

  // The sample under the pointer is told, or where that is elsewhere the time of the scene.
  point({ left, idx }) {
    const { chart, panel } = this, t = left >= 0 && idx !== null && !(chart.posToVal(left, "x") > this.until) ? panel.t[idx] : null;
    this.pointed.textContent = t === null ? "" : `at ${shown_number(t)} s`; this.tell(t === null ? this.time : t);
  }

  // The pointer moves the scene, whose values are to be seen then.
  leave() { if (this.chart) this.chart.setCursor({ left: -10, top: -10 }); }

  // Values of the curves at a time, beside their names.
  tell(t) {
    const times = this.panel.t; let k = 0, j = times.length - 1;
    while (j - k > 1) { const m = (k + j) >> 1; if (times[m] <= t) k = m; else j = m; }
    const s = times[j] > times[k] ? Math.min(Math.max((t - times[k]) / (times[j] - times[k]), 0), 1) : 0;
    this.values.forEach((value, c) => {
      const v = this.panel.curves[c].values, x = s < 1e-9 ? v[k] : s > 1 - 1e-9 ? v[j] : v[k] + s * (v[j] - v[k]);
      // What is rounding beside the rest of the panel is nothing.
      const told = this.panel.logarithmic || Math.abs(x) > 1e-12 * this.largest ? x : 0; value.textContent = Number.isFinite(x) ? shown_number(+told.toPrecision(3)) : "";
    });
  }
}
