// Moves a mechanism by its joints or by the pointer; Python closes the loops. Every message carries the whole state, so
// the server keeps none and browsers do not disturb each other.

// A value that somebody typed, in SI units: a number, or one with a unit; null for anything else.
function read_value(text, unit, degrees) {
  const found = /^\s*([-+\u2212]?(?:\d+[.,]?\d*|[.,]\d+)(?:e[-+]?\d+)?)\s*(\S*)\s*$/i.exec(text); if (!found) return null;
  const number = +found[1].replace(",", ".").replace("\u2212", "-"), units = unit === "rad" ? { "": degrees ? Math.PI / 180 : 1, rad: 1, deg: Math.PI / 180, "\u00b0": Math.PI / 180 } : { "": 1, m: 1, cm: 0.01, mm: 0.001 };
  return Number.isFinite(number) && found[2] in units ? number * units[found[2]] : null;
}

class Live {
  constructor(player, data) {
    this.player = player; this.data = data; this.q = data.q; this.first = data.q; this.updates = 0; this.sliders = new Map();
    const aside = player.root.querySelector("aside");
    const head = element("div", "head"), again = element("button", "", "Start again"), copy = element("button", "", "Copy q");
    again.type = copy.type = "button"; again.title = "back to the configuration at the start"; copy.title = "copy the coordinates as a Python list";
    again.onclick = () => { this.remember(); this.ask({ q: this.first }); }; copy.onclick = () => navigator.clipboard && navigator.clipboard.writeText(`[${this.q.map((x) => +x.toPrecision(12)).join(", ")}]`);
    const undo = element("button", "", "Undo"), units = element("select"); undo.type = "button"; undo.title = "back to before the last move (Ctrl+Z)"; undo.disabled = true; this.undo_button = undo; this.past = []; undo.onclick = () => this.undo();
    units.setAttribute("aria-label", "unit of angles"); units.name = "units"; units.append(new Option("rad"), new Option("deg")); units.onchange = () => { this.degrees = units.value === "deg"; this.show(); }; this.degrees = false;
    head.append(element("strong", "", "Joints"), undo, again, copy, units); aside.append(head);
    document.addEventListener("keydown", (event) => { if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches("input:not([type=range])")) { event.preventDefault(); this.undo(); } });
    aside.append(element("p", "hint", "Move a joint, or drag a body with the pointer: the loops follow. Shift and drag moves the eye."));
    this.state = element("p", "state"); this.state.setAttribute("role", "status"); aside.append(this.state);
    const list = element("div", "joints"); aside.append(list);
    for (const joint of data.joints) {
      const row = element("div", joint.loop ? "coordinate loop" : "coordinate"), name = element("span", "", joint.label), range = element("input"), box = element("label", "typed"), value = element("input"), unit = element("span"), limits = element("small");
      range.type = "range"; range.min = joint.low; range.max = joint.high; range.step = "any"; range.name = joint.label; range.setAttribute("aria-label", joint.label);
      value.type = "text"; value.inputMode = "decimal"; value.name = `value of ${joint.label}`; value.setAttribute("aria-label", `value of ${joint.label}`); box.append(value, unit);
      row.append(name, box, range); if (joint.limited) row.append(limits);
      const move = (x) => this.ask({ q: this.q, joint: joint.name, component: joint.component, value: x });
      range.oninput = () => { if (this.holding !== range) this.remember(); this.holding = range; move(+range.value); };
      range.onpointerdown = () => { this.remember(); this.holding = range; }; range.onpointerup = range.onchange = () => { this.holding = null; this.show(); };
      value.onchange = () => {
        const given = read_value(value.value, joint.unit, this.degrees); value.setAttribute("aria-invalid", String(given === null)); value.typing = given === null;
        if (given === null) { this.player.say(`${joint.label}: "${value.value}" is no ${joint.unit === "rad" ? "angle; give a number, or one with deg or rad" : "length; give a number, or one with m or mm"}.`); return; }
        // Written as it will be told, so that the answer does not change the text under the hands of who types on.
        value.value = this.told(given, joint); this.remember(); move(given);
      };
      value.oninput = () => { value.typing = true; }; value.onblur = () => { if (value.getAttribute("aria-invalid") !== "true") { value.typing = false; this.show(); } };
      list.append(row); this.sliders.set(`${joint.name} ${joint.component}`, { row, range, value, unit, limits, joint });
    }
    if (!data.joints.length) list.append(element("p", "hint", "No joint has a coordinate of its own here; drag bodies instead."));
    this.values = data.values; this.marks = data.marks; this.show();
  }

  // At most one question is on its way; of those that come meanwhile the last is asked next.
  async ask(question) {
    if (this.busy) { this.waiting = question; return; }
    this.busy = true; this.player.hurry(false);
    try {
      for (let next = question; next; ) {
        this.waiting = null;
        const reply = await fetch("pose", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(next) });
        const found = await reply.json(); if (!reply.ok) throw new Error(found.error || reply.statusText);
        this.take(found);
        next = this.waiting && "q" in this.waiting ? { ...this.waiting, q: this.waiting.q === this.first || this.waiting.back ? this.waiting.q : this.q } : null;
      }
    } catch (error) { this.player.say(error instanceof TypeError ? "Python has ended or cannot be reached; the mechanism stays as it is." : error.message); }
    finally { this.busy = false; }
  }

  take(found) {
    this.q = found.q; this.values = found.values; this.marks = found.marks; this.updates++;
    // What was refused stays to be mended until something else moves.
    for (const { value } of this.sliders.values()) if (value.getAttribute("aria-invalid") === "true") value.typing = false;
    const segment = this.player.data.segments[0]; segment.poses = Float32Array.from(found.poses); segment.amplitudes = Float32Array.from(found.amplitudes); segment.motions = 1; segment.t = new Float64Array([0]);
    this.player.say(found.note || ""); this.show_soon(); this.player.hurry();
  }

  // Painting the sliders costs a processor that also draws the scene more than the scene itself.
  show_soon() {
    const { renderer } = this.player;
    if (!renderer || !renderer.is_software) { this.show(); return; }
    if (!this.later) this.later = setTimeout(() => { this.later = null; this.show(); }, 150);
  }

  // A coordinate as its box has it.
  told(x, joint) { const turned = this.degrees && joint.unit === "rad", digits = turned ? 2 : 4; return (+(turned ? (x * 180) / Math.PI : x).toFixed(digits) || 0).toFixed(digits); }

  show() {
    this.undo_button.disabled = !this.past.length;
    for (const [key, { row, range, value, unit, limits, joint }] of this.sliders) {
      const x = this.values[key]; if (x === undefined) continue;
      if (this.holding !== range) range.value = x;
      const turned = this.degrees && joint.unit === "rad", by = turned ? 180 / Math.PI : 1, told = (y, digits) => `${+(y * by).toFixed(digits) || 0}`;
      if (!value.typing) { const text = this.told(x, joint); if (value.value !== text) value.value = text; value.setAttribute("aria-invalid", "false"); }
      unit.textContent = turned ? "deg" : joint.unit; limits.textContent = `${told(joint.low, 3)} to ${told(joint.high, 3)} ${unit.textContent}`;
      row.dataset.mark = this.marks[key] || ""; row.title = { limit: "at its limit", dead: "dead point: this joint cannot drive the mechanism here" }[this.marks[key]] || (joint.loop ? "this joint closes a loop" : "");
    }
    this.state.textContent = this.marks.state || "";
  }

  // What a move started from, so that it can be taken back.
  remember() { if (!this.past.length || this.past[this.past.length - 1] !== this.q) this.past.push(this.q); if (this.past.length > 200) this.past.shift(); this.undo_button.disabled = false; }

  undo() { if (this.past.length) this.ask({ q: this.past.pop(), back: true }); }

  // The point that was touched stays the same point of the body.
  drag_start(grip) {
    this.remember();
    const { rows } = this.player, k = 12 * grip.body, away = [0, 1, 2].map((i) => grip.point[i] - rows[k + 4 * i + 3]);
    const point = [0, 1, 2].map((j) => rows[k + j] * away[0] + rows[k + 4 + j] * away[1] + rows[k + 8 + j] * away[2]);
    this.grip = { body: this.player.data.scenes[0].bodies[grip.body], point }; this.player.chosen = grip.body; this.player.canvas.style.cursor = "grabbing";
  }

  drag(to) { this.ask({ q: this.q, ...this.grip, to }); }

  drag_end() { this.grip = null; this.player.chosen = 0; this.player.canvas.style.cursor = ""; this.player.redraw(); }
}
