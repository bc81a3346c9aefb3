// A study: numbers that are varied, what is told of each variant, and a picture of what was found.

import { html, signal, useEffect, useRef, useState } from "./vendor/preact.js";
import { shown_number } from "./player.js";
import { act, cancel, compute_study, running, save_study, say, side, state, try_act } from "./store.js";

const found = signal(null); // the study that was computed last
const WAYS = { grid: "in even steps", sobol: "spread evenly", uniform: "by chance, evenly", normal: "by chance, normal" };
const W = 430, H = 280, L = 58, B = 36, MOST = 4000;

// Numbers that may be varied, with a range about what they are now.
function numbers() {
  const { parameters, bodies, joints } = state.value.parts, { live } = state.value.scene, values = live ? live.values : {};
  return [...parameters.map((one) => [one.name, one.value]), ...bodies.map((one) => [`${one.name}.mass`, one.mass]), ...joints.filter((one) => one.freedom === 1).flatMap((one) => [[`initial.${one.name}`, values[`${one.name} 0`] || 0], [`velocity.${one.name}`, 0]]), ["gravity", 9.81]];
}
const about = (x) => (x > 0 ? [0.8 * x, 1.2 * x] : [x - 0.5, x + 0.5]).map((y) => String(+y.toPrecision(4)));
const told_of = () => state.value.parts.joints.filter((one) => one.freedom === 1).flatMap(({ name }) => [`max(${name})`, `min(${name})`, `last(${name})`, `max(abs(v.${name}))`, `time_of_max(${name})`]);

function begin() {
  const { study } = state.value.parts; if (study) return study;
  const [name, value] = numbers()[0] || ["", 1], [low, high] = about(value || 0), formula = told_of()[0] || "";
  return { vary: [{ name, way: "grid", low, high, count: "11" }], outcomes: [{ name: "", formula }], samples: "200" };
}

function Picture({ study }) {
  const names = Object.keys(study.columns), [x, set_x] = useState(study.varied[0]), [y, set_y] = useState(study.outcomes[0] || study.varied[1] || study.varied[0]), [chosen, set_chosen] = useState(null);
  const chart = useRef(null); useEffect(() => { if (chart.current) chart.current.scrollIntoView({ block: "nearest" }); }, [study]);
  const of = study.outcomes[0], pair = names.includes(x) && names.includes(y), X = study.columns[x] || [], Y = study.columns[y] || [], C = study.varied.includes(y) && of ? study.columns[of] : null;
  const all = X.map((_, k) => k).filter((k) => X[k] !== null && Y[k] !== null), kept = all.length > MOST ? all.filter((_, k) => k % Math.ceil(all.length / MOST) === 0) : all, range = (values, of_rows) => { let low = Infinity, high = -Infinity; for (const k of of_rows) { low = Math.min(low, values[k]); high = Math.max(high, values[k]); } return high > low ? [low, high] : [low - 0.5, high + 0.5]; };
  if (!pair || !kept.length) return html`<p class="hint">No variant could be run to its end.</p>`;
  const [x0, x1] = range(X, kept), [y0, y1] = range(Y, kept), [c0, c1] = C ? range(C, kept.filter((k) => C[k] !== null)) : [0, 1], px = (v) => L + ((v - x0) / (x1 - x0)) * (W - L - 12), py = (v) => H - B - ((v - y0) / (y1 - y0)) * (H - B - 12);
  const marks = (low, high) => [0, 0.5, 1].map((s) => low + s * (high - low)), words = (v) => shown_number(+v.toPrecision(3)), is_line = study.varied.length === 1 && !C && x === study.varied[0], line = is_line ? [...kept].sort((a, b) => X[a] - X[b]) : [];
  const pick = (event) => { const box = event.currentTarget.getBoundingClientRect(), at = [((event.clientX - box.left) / box.width) * W, ((event.clientY - box.top) / box.height) * H]; let best = null, near = 18; for (const k of kept) { const far = Math.hypot(px(X[k]) - at[0], py(Y[k]) - at[1]); if (far < near) { near = far; best = k; } } set_chosen(best); };
  const choose = (label, value, set) => html`<label class="field"><span>${label}</span><select aria-label=${label} value=${value} onChange=${(event) => { set(event.target.value); set_chosen(null); }}>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
  const own = new Set(state.value.parts.parameters.map((one) => one.name)), takes = study.varied.filter((name) => own.has(name));
  const take = async () => { for (const name of takes) await try_act("set parameter", { name, value: study.columns[name][chosen] }, "study"); say(`The numbers of variant ${chosen} are in the mechanism now.`); };
  return html`${choose("across", x, set_x)}${choose("upwards", y, set_y)}
    <svg class="chart" ref=${chart} viewBox="0 0 ${W} ${H}" role="img" aria-label=${`${y} over ${x}, ${all.length} variants`} onClick=${pick}>
      ${marks(x0, x1).map((v) => html`<line class="rule" x1=${px(v)} x2=${px(v)} y1="12" y2=${H - B}/><text x=${px(v)} y=${H - B + 16} text-anchor="middle">${words(v)}</text>`)}${marks(y0, y1).map((v) => html`<line class="rule" x1=${L} x2=${W - 12} y1=${py(v)} y2=${py(v)}/><text x=${L - 6} y=${py(v) + 4} text-anchor="end">${words(v)}</text>`)}
      <text x=${(L + W) / 2} y=${H - 4} text-anchor="middle">${x}</text>${is_line && html`<polyline points=${line.map((k) => `${px(X[k]).toFixed(1)},${py(Y[k]).toFixed(1)}`).join(" ")}/>`}
      ${kept.map((k) => html`<circle key=${k} cx=${px(X[k]).toFixed(1)} cy=${py(Y[k]).toFixed(1)} r=${k === chosen ? 6 : C ? 4.5 : 3} class=${k === chosen ? "now" : ""} style=${C && C[k] !== null ? `fill: hsl(${(240 - 200 * ((C[k] - c0) / (c1 - c0 || 1))).toFixed(0)} 70% 45%)` : undefined}/>`)}</svg>
    ${C && html`<p class="hint">Colour: ${of}, blue ${words(c0)} to orange ${words(c1)}.</p>`}
    ${chosen === null ? html`<p class="hint">Click a point to see its numbers.</p>` : html`<p><b>Variant ${chosen}</b>: ${names.map((name) => `${name} ${study.columns[name][chosen] === null ? "failed" : words(study.columns[name][chosen])}`).join(", ")}</p>${takes.length > 0 && html`<button type="button" onClick=${take}>Take these numbers</button>`}`}
    ${study.outcomes.map((name) => { const values = study.columns[name].map((v, k) => [v, k]).filter(([v]) => v !== null); if (!values.length) return null; const least = values.reduce((a, b) => (b[0] < a[0] ? b : a)), most = values.reduce((a, b) => (b[0] > a[0] ? b : a)); return html`<p class="hint">${name}: ${words(least[0])} <button type="button" onClick=${() => set_chosen(least[1])}>show</button> to ${words(most[0])} <button type="button" onClick=${() => set_chosen(most[1])}>show</button></p>`; })}
    ${study.failed.length > 0 && html`<p class="hint">Some variants failed; the first of them: ${study.failed[0][1]}</p>`}`;
}

export function Study() {
  const [form, set] = useState(begin), [fault, set_fault] = useState(""), busy = running.value, now = state.value;
  const row = (list, k, key) => (event) => { const next = form[list].map((one, i) => (i === k ? { ...one, [key]: event.target.value } : one)); if (list === "vary" && key === "name") { const known = numbers().find(([name]) => name === event.target.value); if (known) [next[k].low, next[k].high] = about(known[1] || 0); } set({ ...form, [list]: next }); };
  const without = (list, k) => () => set({ ...form, [list]: form[list].filter((_, i) => i !== k) }), more = (list, one) => () => set({ ...form, [list]: [...form[list], one] });
  const start = async (event) => { event.preventDefault(); set_fault(""); try { if (JSON.stringify(now.parts.study) !== JSON.stringify(form)) await act("set study", form); const made = await compute_study(); if (made) found.value = made; } catch (error) { set_fault(error.message); } };
  const input = (list, k, key, label, extra = {}) => html`<input type="text" aria-label=${label} value=${form[list][k][key]} onInput=${row(list, k, key)} ...${extra} />`;
  return html`<section class="sheet study" aria-label="Study"><header><strong>Study</strong><button type="button" aria-label="close the study" onClick=${() => { side.value = ""; }}>Close</button></header><div class="scrolls" tabindex="0">
    <form onSubmit=${start}><p class="hint">The run is computed many times with other numbers. <code>catena study</code> does the same with the saved file, on many processors.</p>
      <datalist id="numbers">${numbers().map(([name]) => html`<option value=${name}></option>`)}</datalist><datalist id="told">${told_of().map((name) => html`<option value=${name}></option>`)}</datalist>
      <h3>Vary</h3>${form.vary.map((one, k) => html`<div class="row" key=${k}>${input("vary", k, "name", `number ${k + 1}`, { list: "numbers", placeholder: "a number" })}<select aria-label=${`how number ${k + 1} is varied`} value=${one.way} onChange=${row("vary", k, "way")}>${Object.entries(WAYS).map(([way, words]) => html`<option value=${way}>${words}</option>`)}</select>
        ${one.way === "normal" ? "mean" : "from"} ${input("vary", k, "low", `from, of number ${k + 1}`, { class: "number" })} ${one.way === "normal" ? "deviation" : "to"} ${input("vary", k, "high", `to, of number ${k + 1}`, { class: "number" })} ${one.way === "grid" && html`steps ${input("vary", k, "count", `steps of number ${k + 1}`, { class: "number" })}`}${form.vary.length > 1 && html`<button type="button" aria-label=${`do not vary number ${k + 1}`} onClick=${without("vary", k)}>\u00d7</button>`}</div>`)}
      <button type="button" onClick=${more("vary", { name: "", way: form.vary[0] ? form.vary[0].way : "grid", low: "0", high: "1", count: "11" })}>Another number</button>
      ${form.vary.some((one) => one.way !== "grid") && html`<label class="field"><span>variants</span><input type="text" name="samples" value=${form.samples} onInput=${(event) => set({ ...form, samples: event.target.value })} /></label>`}
      <h3>Tell of each</h3>${form.outcomes.map((one, k) => html`<div class="row" key=${k}>${input("outcomes", k, "formula", `formula ${k + 1}`, { list: "told", placeholder: "max(A)" })} called ${input("outcomes", k, "name", `name of formula ${k + 1}`, { placeholder: "the same" })}${form.outcomes.length > 1 && html`<button type="button" aria-label=${`do not tell formula ${k + 1}`} onClick=${without("outcomes", k)}>\u00d7</button>`}</div>`)}
      <p class="hint">max, min, last, mean, integral, time_of_max or crossing of a formula of joints (A), speeds (v.A) and t.</p><button type="button" onClick=${more("outcomes", { name: "", formula: "" })}>Another formula</button>
      ${fault && html`<small class="fault" role="alert">${fault}</small>`}<div class="row">${busy ? html`<button type="button" onClick=${cancel}>Cancel</button>` : html`<button type="submit" class="run" disabled=${!!now.why_not_run} title=${now.why_not_run || ""}>Start the study</button>`}${now.parts.study && !busy && html`<button type="button" onClick=${() => { try_act("remove study", {}); found.value = null; set(begin()); }}>Remove it</button>`}</div></form>
    ${found.value && html`<h3>Found</h3><${Picture} study=${found.value} key=${Object.keys(found.value.columns).join()} /><div class="row"><button type="button" disabled=${!!busy || !now.parts.study} onClick=${() => save_study(".html")}>Page with pictures</button><button type="button" disabled=${!!busy || !now.parts.study} onClick=${() => save_study(".csv")}>Table</button></div>`}</div></section>`;
}
