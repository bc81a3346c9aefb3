// Curves over time on canvases, with one cursor for the time that the scene shows.

// Six hues that people tell apart whichever colours they see (tests/view/test_hues.py); each further round of them is dashed.
const HUES = ["#3638cc", "#ba8600", "#0098c7", "#cf0063", "#561474", "#822e00"];
const HUES_DARK = ["#9575ea", "#e2471c", "#66f892", "#c15c80", "#e2ffff", "#ffd60c"];
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

function ticks(low, high, count) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough)), part = rough / power;
  const step = power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10), found = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + 1e-9 * step; x += step) found.push(Math.abs(x) < 1e-9 * step ? 0 : x);
  return found;
}

function shown_number(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(1).replace("e+", "e") : String(+x.toPrecision(4));
}

class Plot {
  constructor(parent, panel, span, scrub) {
    this.panel = panel; this.span = span; this.hidden = new Set();
    this.root = document.createElement("figure");
    this.root.innerHTML = '<figcaption></figcaption><div class="plot"><canvas></canvas><div class="cursor"></div></div><ul class="legend"></ul>';
    this.root.querySelector("figcaption").textContent = panel.title + (panel.unit ? ` [${panel.unit}]` : "");
    this.canvas = this.root.querySelector("canvas"); this.cursor = this.root.querySelector(".cursor");
    this.canvas.setAttribute("role", "img"); this.canvas.setAttribute("aria-label", `${panel.title}: ${panel.curves.map((c) => c.name).join(", ")}`);
    const legend = this.root.querySelector("ul");
    this.values = panel.curves.map((curve, k) => {
      const item = document.createElement("li"), button = document.createElement("button"), value = document.createElement("output");
      button.type = "button"; button.setAttribute("aria-pressed", "true");
      button.append(document.createElement("i"), curve.name); button.title = `show or hide ${curve.name}`;
      button.onclick = () => { this.hidden.has(k) ? this.hidden.delete(k) : this.hidden.add(k); button.setAttribute("aria-pressed", String(!this.hidden.has(k))); this.draw(); };
      item.append(button, value); legend.append(item); return value;
    });
    if (panel.left_out) { const item = document.createElement("li"); item.textContent = `and ${panel.left_out} more`; legend.append(item); }
    parent.append(this.root);
    const pointed = (event) => { const box = this.canvas.getBoundingClientRect(); scrub(this.time_at(event.clientX - box.left)); };
    this.canvas.addEventListener("pointerdown", (event) => { this.canvas.setPointerCapture(event.pointerId); pointed(event); });
    this.canvas.addEventListener("pointermove", (event) => { if (event.buttons & 1) pointed(event); });
  }

  // How a curve is dashed: what accompanies others, and what has the hue of another.
  round(k) { return Math.min(3, Math.floor(k / HUES.length) + (this.panel.curves[k].dashed ? 1 : 0)); }

  time_at(x) { const [a, b] = this.span, [l, r] = this.edges; return a + ((b - a) * Math.min(Math.max(x - l, 0), r - l)) / (r - l); }

  draw() {
    const { panel, canvas } = this, style = getComputedStyle(canvas), ratio = window.devicePixelRatio || 1;
    const w = canvas.clientWidth, h = canvas.clientHeight; if (!w || !h) return;
    canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
    const g = canvas.getContext("2d"); g.scale(ratio, ratio);
    const faint = style.getPropertyValue("--faint"), line = style.getPropertyValue("--line");
    const hues = style.getPropertyValue("--dark").trim() === "1" ? HUES_DARK : HUES;
    this.root.querySelectorAll("li i").forEach((mark, k) => { mark.style.borderColor = hues[k % hues.length]; mark.style.borderTopStyle = ["solid", "dashed", "dotted", "double"][this.round(k)]; });
    const log = panel.logarithmic, of = (x) => (log ? Math.log10(Math.max(x, 1e-300)) : x);
    let low = Infinity, high = -Infinity;
    panel.curves.forEach((curve, k) => { if (!this.hidden.has(k)) for (const x of [...curve.values, ...((this.ghost && this.ghost.curves[k] && this.ghost.curves[k].values) || [])]) if (Number.isFinite(x)) { low = Math.min(low, of(x)); high = Math.max(high, of(x)); } });
    if (!(low <= high)) { low = 0; high = 1; }
    let room = 0.06 * (high - low);
    // What differs by rounding only is a line, not a mountain range.
    if (high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high))) room = 0.5 * Math.abs(high) || 0.5;
    this.largest = Math.max(Math.abs(low), Math.abs(high)); low -= room; high += room;
    g.font = "11px system-ui, sans-serif"; g.lineWidth = 1;
    const marks = log ? ticks(low, high, 4).filter((x) => Math.abs(x - Math.round(x)) < 1e-6) : ticks(low, high, 4);
    const names = marks.map((x) => (log ? `1e${Math.round(x)}` : shown_number(x)));
    const left = 10 + Math.max(24, ...names.map((name) => g.measureText(name).width)), right = w - 8, top = 6, bottom = h - 20;
    this.edges = [left, right];
    const [a, b] = this.span, X = (t) => left + ((right - left) * (t - a)) / (b - a || 1), Y = (y) => bottom - ((bottom - top) * (y - low)) / (high - low);
    g.strokeStyle = line; g.fillStyle = faint; g.textBaseline = "middle"; g.textAlign = "right";
    marks.forEach((y, k) => { g.beginPath(); g.moveTo(left, Y(y)); g.lineTo(right, Y(y)); g.stroke(); g.fillText(names[k], left - 5, Y(y)); });
    g.textBaseline = "top"; g.textAlign = "center";
    for (const t of ticks(a, b, Math.max(2, Math.floor((right - left) / 70)))) { g.beginPath(); g.moveTo(X(t), top); g.lineTo(X(t), bottom); g.stroke(); if (X(t) < right - 14) g.fillText(shown_number(t), X(t), bottom + 5); }
    g.textAlign = "right"; g.fillText("s", right, bottom + 5);
    g.save(); g.beginPath(); g.rect(left, top - 2, right - left, bottom - top + 4); g.clip(); g.lineJoin = "round";
    // Another run behind: the same curves, thin and grey.
    if (this.ghost) for (const curve of this.ghost.curves) { g.strokeStyle = faint; g.lineWidth = 1; g.setLineDash([3, 3]); g.beginPath(); for (let i = 0; i < curve.values.length; i++) { const y = Y(of(curve.values[i])); i ? g.lineTo(X(this.ghost.t[i]), y) : g.moveTo(X(this.ghost.t[i]), y); } g.stroke(); }
    panel.curves.forEach((curve, k) => {
      if (this.hidden.has(k)) return;
      g.strokeStyle = hues[k % hues.length]; g.lineWidth = 1.5; g.setLineDash(DASHES[this.round(k)]); g.beginPath();
      // Where there is no number the line pauses.
      let on = false;
      for (let i = 0; i < curve.values.length; i++) {
        const y = curve.values[i]; if (!Number.isFinite(y)) { on = false; continue; }
        if (panel.t[i] > this.until) break;
        on ? g.lineTo(X(panel.t[i]), Y(of(y))) : g.moveTo(X(panel.t[i]), Y(of(y))); on = true;
      }
      g.stroke();
    });
    g.restore(); this.cursor.style.top = `${top}px`; this.cursor.style.height = `${bottom - top}px`; this.X = X;
  }

  show(t, with_values) {
    if (!this.X) return;
    this.cursor.style.transform = `translateX(${this.X(t)}px)`;
    if (!with_values) return;
    const times = this.panel.t; let k = 0, j = times.length - 1;
    while (j - k > 1) { const m = (k + j) >> 1; if (times[m] <= t) k = m; else j = m; }
    const s = times[j] > times[k] ? Math.min(Math.max((t - times[k]) / (times[j] - times[k]), 0), 1) : 0;
    this.values.forEach((value, c) => { const v = this.panel.curves[c].values, x = s < 1e-9 ? v[k] : s > 1 - 1e-9 ? v[j] : v[k] + s * (v[j] - v[k]); 
      // What is rounding beside the rest of the panel is nothing.
      const told = this.panel.logarithmic || Math.abs(x) > 1e-12 * this.largest ? x : 0; value.textContent = Number.isFinite(x) ? shown_number(+told.toPrecision(3)) : ""; });
  }
}
