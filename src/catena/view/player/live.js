// Moves a mechanism by its joints or by the pointer; Python closes the loops. Every message carries the whole state, so
// the server keeps none and browsers do not disturb each other.

class Live {
  constructor(player, data) {
    this.player = player; this.data = data; this.q = data.q; this.first = data.q; this.updates = 0; this.sliders = new Map();
    const aside = player.root.querySelector("aside");
    const head = element("div", "head"), again = element("button", "", "Start again"), copy = element("button", "", "Copy q");
    again.type = copy.type = "button"; again.title = "back to the configuration at the start"; copy.title = "copy the coordinates as a Python list";
    again.onclick = () => this.ask({ q: this.first }); copy.onclick = () => navigator.clipboard && navigator.clipboard.writeText(`[${this.q.map((x) => +x.toPrecision(12)).join(", ")}]`);
    head.append(element("strong", "", "Joints"), again, copy); aside.append(head);
    aside.append(element("p", "hint", "Move a joint, or drag a body with the pointer: the loops follow. Shift and drag moves the eye."));
    this.state = element("p", "state"); this.state.setAttribute("role", "status"); aside.append(this.state);
    const list = element("div", "joints"); aside.append(list);
    for (const joint of data.joints) {
      const row = element("label", joint.loop ? "joint loop" : "joint"), name = element("span", "", joint.label), range = element("input"), value = element("output");
      range.type = "range"; range.min = joint.low; range.max = joint.high; range.step = "any"; range.name = joint.label;
      row.append(name, value, range); if (joint.limited) row.append(element("small", "", `${shown_number(+joint.low.toPrecision(4))} to ${shown_number(+joint.high.toPrecision(4))} ${joint.unit}`));
      range.oninput = () => this.ask({ q: this.q, joint: joint.name, component: joint.component, value: +range.value });
      range.onpointerdown = () => { this.holding = range; }; range.onpointerup = range.onchange = () => { this.holding = null; this.show(); };
      list.append(row); this.sliders.set(`${joint.name} ${joint.component}`, { row, range, value, joint });
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
        next = this.waiting && "q" in this.waiting ? { ...this.waiting, q: this.waiting.q === this.first ? this.first : this.q } : null;
      }
    } catch (error) { this.player.say(error instanceof TypeError ? "Python has ended or cannot be reached; the mechanism stays as it is." : error.message); }
    finally { this.busy = false; }
  }

  take(found) {
    this.q = found.q; this.values = found.values; this.marks = found.marks; this.updates++;
    const segment = this.player.data.segments[0]; segment.poses = Float32Array.from(found.poses); segment.amplitudes = Float32Array.from(found.amplitudes); segment.motions = 1; segment.t = new Float64Array([0]);
    this.player.say(found.note || ""); this.show_soon(); this.player.hurry();
  }

  // Painting the sliders costs a processor that also draws the scene more than the scene itself.
  show_soon() {
    const { renderer } = this.player;
    if (!renderer || !renderer.is_software) { this.show(); return; }
    if (!this.later) this.later = setTimeout(() => { this.later = null; this.show(); }, 150);
  }

  show() {
    for (const [key, { row, range, value, joint }] of this.sliders) {
      const x = this.values[key]; if (x === undefined) continue;
      if (this.holding !== range) range.value = x;
      value.textContent = `${x.toFixed(3)} ${joint.unit}`;
      row.dataset.mark = this.marks[key] || ""; row.title = { limit: "at its limit", dead: "dead point: this joint cannot drive the mechanism here" }[this.marks[key]] || (joint.loop ? "this joint closes a loop" : "");
    }
    this.state.textContent = this.marks.state || "";
  }

  // The point that was touched stays the same point of the body.
  drag_start(grip) {
    const { rows } = this.player, k = 12 * grip.body, away = [0, 1, 2].map((i) => grip.point[i] - rows[k + 4 * i + 3]);
    const point = [0, 1, 2].map((j) => rows[k + j] * away[0] + rows[k + 4 + j] * away[1] + rows[k + 8 + j] * away[2]);
    this.grip = { body: this.player.data.scenes[0].bodies[grip.body], point }; this.player.chosen = grip.body; this.player.canvas.style.cursor = "grabbing";
  }

  drag(to) { this.ask({ q: this.q, ...this.grip, to }); }

  drag_end() { this.grip = null; this.player.chosen = 0; this.player.canvas.style.cursor = ""; this.player.redraw(); }
}
