// What is chosen, with its numbers to type; the parameters as sliders; what acts, and what changes on the way.

import { html, signal, useEffect, useRef, useState } from "./vendor/preact.js";
import { BUILD, Chain } from "./build.js";
import { act, ask, in_space, place, runs, selected, shown_run, state, tool, try_act, turn } from "./store.js";

// A field for a value with a unit. What is refused stays in the field, with the reason beside it.
export function Field({ label, value, unit = "", change, name, hint = "", list }) {
  const [text, set_text] = useState(value), [fault, set_fault] = useState(""), known = useRef(value);
  // Effects come after the first picture, when somebody may type already.
  useEffect(() => { if (known.current === value) return; known.current = value; set_text(value); set_fault(""); }, [value]);
  const send = async () => { if (String(text) === String(value)) { set_fault(""); return; } try { await change(text); set_fault(""); } catch (error) { set_fault(error.message); } };
  return html`<label class="field"><span>${label}</span><span class="box"><input type="text" name=${name || label} value=${text} aria-invalid=${!!fault} aria-describedby=${fault ? `${name || label}-fault` : undefined} placeholder=${hint} list=${list}
    onInput=${(event) => set_text(event.target.value)} onChange=${send} onKeyDown=${(event) => { if (event.key === "Enter") event.target.blur(); if (event.key === "Escape") { set_text(value); set_fault(""); } }} /><em>${/[a-z]/i.test(String(text).replace(/\de[-+]?\d/gi, "")) ? "" : unit}</em></span>
    ${fault && html`<small class="fault" role="alert" id=${`${name || label}-fault`}>${fault}</small>`}</label>`;
}

const bare = (text) => { const number = Number(text); return Number.isFinite(number) ? String(+number.toPrecision(6)) : text; };

function Bar({ name }) {
  const bar = state.value.drawing.bars[name]; if (!bar) return null;
  const parameter = state.value.parts.parameters.find((one) => one.name === bar.text), free = suggested(name), { points } = state.value.drawing, ends = points[bar.ends[1]].sort === "fixed" && points[bar.ends[0]].sort !== "fixed" ? [bar.ends[1], bar.ends[0]] : bar.ends, [a, b] = ends.map((end) => points[end].at), pinned = points[ends[0]].sort === "fixed" && !state.value.unfinished && state.value.scene.live;
  return html`<h3>Bar ${name}</h3>
    <${Field} label="length" name=${`length of ${name}`} unit="m" value=${parameter ? bare(parameter.text) : bare(bar.text)} change=${(length) => act("set length", { bar: name, length })} />
    ${pinned && html`<${Field} label="direction" name=${`direction of ${name}`} unit="" value=${`${bare((Math.atan2(b[1] - a[1], b[0] - a[0]) * 180) / Math.PI)} deg`} change=${(angle) => turn({ bar: name, angle })} />`}
    ${parameter && html`<p class="hint">It is the parameter <b>${parameter.name}</b>, which has a slider below.</p>`}
    <div class="row">${!parameter && html`<button type="button" onClick=${() => try_act("make parameter", { path: ["linkage", "bars", name], name: free })}>Make a slider of it</button>`}<button type="button" onClick=${() => { try_act("remove bar", { bar: name }); selected.value = null; }}>Remove</button></div>`;
}

function suggested(name) { const taken = new Set(state.value.parts.parameters.map((one) => one.name)), base = name.replace(/[^A-Za-z0-9]/g, "").toLowerCase() || "length"; let found = base; for (let k = 2; taken.has(found); k++) found = `${base}${k}`; return found; }

function Point({ name }) {
  const point = state.value.drawing.points[name]; if (!point) return null;
  const { sort, at } = point, word = { fixed: "stands on the ground", slides: "slides along a line", free: "is carried by its bars" }[sort], joint = state.value.parts.joints.find((one) => one.name === name);
  return html`<h3>Point ${name}</h3><p class="hint">It ${word}: x ${bare(at[0].toFixed(4))} m, z ${bare(at[1].toFixed(4))} m.</p>
    <div class="row">${sort !== "fixed" && html`<button type="button" onClick=${() => try_act("ground point", { point: name })}>Put on the ground</button>`}
    ${sort !== "slides" && html`<button type="button" onClick=${() => try_act("slide point", { point: name })}>Let it slide</button>`}
    ${sort !== "free" && html`<button type="button" onClick=${() => try_act("free point", { point: name })}>Let it go</button>`}</div>
    ${joint && html`<${Joint} name=${name} />`}`;
}

function Joint({ name }) {
  const joint = state.value.parts.joints.find((one) => one.name === name); if (!joint) return null;
  const motor = state.value.parts.motors.find((one) => one.joint === name), index = (state.value.parts.tables.joint || []).findIndex((one) => one.name === name);
  const [at, set_at] = useState("1 s"), live = state.value.scene.live, at_now = live && joint.freedom === 1 ? live.values[`${name} 0`] : undefined, turns = joint.kind !== "Prismatic", is_drawn = Object.keys(state.value.drawing.bars).length > 0, held = state.value.parts.controllers.find((one) => one.joint === name);
  return html`<h3>Joint ${name}</h3><p class="hint">${joint.kind === "Revolute" ? "A pin (revolute)" : joint.kind} between ${joint.parent} and ${joint.child}${joint.loop ? "; it closes a loop" : ""}${joint.locked ? "; it is locked" : ""}.</p>
    ${joint.freedom === 1 && (motor ? html`
      ${motor.speed !== undefined ? html`<${Field} label="motor speed" name=${`speed of ${name}`} unit="rad/s" value=${motor.speed} change=${(speed) => act("set motor", { joint: name, speed })} />` : html`<${Field} label="motor moment" name=${`moment at ${name}`} unit="N m" value=${motor.moment} change=${(moment) => act("set motor", { joint: name, moment })} />`}
      <div class="row">${motor.speed !== undefined ? html`<button type="button" onClick=${() => try_act("set motor", { joint: name, moment: "1 N*m" })}>Give it a moment instead</button>` : html`<button type="button" onClick=${() => try_act("set motor", { joint: name, speed: "60 rpm" })}>Give it a speed instead</button>`}
      <button type="button" onClick=${() => try_act("remove motor", { joint: name })}>No motor</button></div>` : html`<button type="button" onClick=${() => try_act("set motor", { joint: name, speed: "60 rpm" })}>Motor</button>`)}
    ${at_now !== undefined && !joint.loop && html`${!is_drawn && html`<${Field} label="starts at" name=${`place of ${name}`} unit="" value=${turns ? `${bare((at_now * 180) / Math.PI)} deg` : `${bare(at_now)} m`} change=${(value) => place({ joint: name, component: 0, value })} />`}<${Field} label="starting speed" name=${`start speed of ${name}`} unit=${turns ? "rad/s" : "m/s"} value=${state.value.parts.start_speeds[name] || "0"} change=${(velocity) => act("set start", { joint: name, velocity })} />`}
    ${held && html`<${Field} label="led to" name=${`target of ${name}`} unit=${turns ? "rad" : "m"} value=${held.target} change=${(target) => act("set controller", { ...held, target })} />${["kp", "ki", "kd"].map((gain) => html`<${Field} key=${gain} label=${`gain ${gain}`} name=${`${gain} of ${name}`} value=${held[gain]} change=${(value) => act("set controller", { ...held, [gain]: value })} />`)}<button type="button" onClick=${() => try_act("remove controller", { joint: name })}>No controller</button>`}
    <p class="hint">On the way:</p><div class="row"><label class="field short"><span>at</span><input type="text" name="time of the change" value=${at} onInput=${(event) => set_at(event.target.value)} /></label>
    ${["lock", "unlock", "detach"].map((action) => html`<button type="button" onClick=${() => try_act("change structure", { at, action, joint: name })}>${action}</button>`)}</div>
    ${index >= 0 && html`<${Table} name=${`joint ${index}`} />`}`;
}

function Body({ name }) {
  const body = state.value.parts.bodies.find((one) => one.name === name), index = (state.value.parts.tables.body || []).findIndex((one) => one.name === name);
  if (index >= 0) return html`<${Table} name=${`body ${index}`} />`;
  return body ? html`<h3>Body ${name}</h3><p class="hint">Mass ${bare(body.mass)} kg.</p>` : null;
}

function Spring({ name }) {
  const index = state.value.parts.springs.findIndex((one) => one.name === name), spring = state.value.parts.springs[index]; if (!spring) return null;
  return html`<h3>${name}</h3><p class="hint">Between ${(spring.between || [spring.joint]).join(" and ")}.</p>
    <${Field} label="stiffness" name=${`stiffness of ${name}`} unit="N/m" value=${bare(spring.stiffness)} change=${(value) => act("set value", { path: ["spring", index, "stiffness"], value, sort: "stiffness" })} />
    <${Field} label="length at rest" name=${`rest of ${name}`} unit="m" value=${bare(spring.rest_length)} change=${(value) => act("set value", { path: ["spring", index, "rest_length"], value, sort: "length" })} />
    <button type="button" onClick=${() => { try_act("remove", { sort: "spring", name }); selected.value = null; }}>Remove</button>`;
}

// A part of any sort, with its fields as the text has them.
const CHOICES = { parent: "bodies", child: "bodies", body: "bodies", on: "bodies", joint: "joints", of: "joints", frame: "frames", axis: "axes", axis1: "axes", axis2: "axes", normal: "axes", notation: "notations" };
const choices = (sort, key) => (key === "kind" ? (sort === "joint" ? "choices-kinds" : sort === "controller" ? "choices-controllers" : undefined) : CHOICES[key] ? `choices-${CHOICES[key]}` : undefined);

// What may be chosen in fields that take names; anything else may be typed.
function Choices() {
  const { bodies, joints, frames } = state.value.parts, all = { bodies: ["ground", ...bodies.map((one) => one.name)], joints: joints.map((one) => one.name), frames: [...frames, ...bodies.map((one) => one.name)], axes: ["x", "y", "z", "-x", "-y", "-z"], notations: ["denavit_hartenberg", "sdof"], kinds: ["revolute", "prismatic", "cylindrical", "helical", "universal", "spherical", "planar", "free", "fixed", "sdof"], controllers: ["pid", "hold", "computed_torque", "gravity_compensation", "formula"] };
  return Object.entries(all).map(([key, names]) => html`<datalist id=${`choices-${key}`}>${names.map((each) => html`<option value=${each}></option>`)}</datalist>`);
}

const RARE = new Set(["physical", "collision", "beam", "beam_frame", "finite_elements", "locked_modes", "limit_stiffness", "limit_damping", "locked_at", "armature", "velocity_limit", "static_friction", "stribeck_velocity", "no_load_speed", "components", "beyond"]);

function Table({ name }) {
  const [sort, number] = name.split(" "), table = (state.value.parts.tables[sort] || [])[+number], about = useSorts().find((one) => one.sort === sort); if (!table) return null;
  if (sort === "chain" && state.value.parts.chains[+number]) return html`<${Chain} number=${+number} key=${number} /><button type="button" onClick=${() => { try_act("remove part", { sort, number: +number }); selected.value = null; }}>Remove</button>`;
  const kind = about && about.kinds[table.kind], keys = [...new Set([...Object.keys(table), ...(about ? [...about.needed, ...(kind || []), ...about.may] : [])])];
  // Fields that few people need wait below, unless the text has them.
  const rare = keys.filter((key) => table[key] === undefined && RARE.has(key)), field = (key) => html`<${Field} key=${key} label=${key} name=${`${key} of ${table.name || sort}`} value=${table[key] === undefined ? "" : table[key]} hint=${about ? about.examples[key] : ""} list=${choices(sort, key)} change=${(text) => act("set field", { sort, number: +number, key, text })} />`;
  return html`<h3>${sort} ${table.name || +number + 1}</h3>${keys.filter((key) => !rare.includes(key)).map(field)}${rare.length > 0 && html`<details class="told"><summary>More fields</summary>${rare.map(field)}</details>`}
    <button type="button" onClick=${() => { try_act("remove part", { sort, number: +number }); selected.value = null; }}>Remove</button>`;
}

const found_sorts = signal([]);
function useSorts() { useEffect(() => { if (!found_sorts.value.length) ask("sorts").then((found) => { found_sorts.value = found.sorts; }).catch(() => {}); }, []); return found_sorts.value; }

function Add() {
  const sorts = useSorts(), [sort, set_sort] = useState(""), [fields, set_fields] = useState({}), [fault, set_fault] = useState(""), about = sorts.find((one) => one.sort === sort);
  const keys = about ? [...new Set([...about.needed, ...(about.kinds[fields.kind || "revolute"] || []), ...about.may.slice(0, sort === "chain" ? 20 : 5)])] : [];
  const add = async () => { try { const found = await act("add part", { sort, fields }); set_fields({}); set_fault(""); selected.value = { kind: "table", name: `${sort} ${found.parts.tables[sort].length - 1}` }; } catch (error) { set_fault(error.message); } };
  return html`<label class="field"><span>add a part</span><select aria-label="sort of part to add" value=${sort} onChange=${(event) => { set_sort(event.target.value); set_fields(event.target.value === "joint" ? { kind: "revolute" } : {}); set_fault(""); }}><option value="">choose</option>${sorts.map((one) => html`<option value=${one.sort}>${one.sort}</option>`)}</select></label>
    ${about && html`<form class="build" onSubmit=${(event) => { event.preventDefault(); add(); }}>${keys.map((key) => html`<label class="field" key=${key}><span>${key}${about.needed.includes(key) ? " *" : ""}</span><input type="text" name=${`new ${key}`} value=${fields[key] || ""} placeholder=${about.examples[key]} list=${choices(sort, key)} onInput=${(event) => set_fields({ ...fields, [key]: event.target.value })} /></label>`)}
      ${fault && html`<small class="fault" role="alert">${fault}</small>`}<button type="submit">Add ${sort}</button></form>`}`;
}

const MANY = 20; // parts of a sort that are listed unasked; where a run is shown its plots come first

function Parts() {
  const { tables } = state.value.parts;
  return html`<h3>Parts</h3>${Object.keys(tables).length === 0 && html`<p class="hint">None yet. ${in_space.value ? "Choose Body on the left and click the floor." : "What you draw is above; bodies and joints in space are added here or with 3-D."}</p>`}${Object.entries(tables).map(([sort, list]) => html`<details class="told" open=${!shown_run.value && list.length <= MANY}><summary>${sort} (${list.length})</summary><div class="row">${list.map((table, k) => html`<button type="button" onClick=${() => { selected.value = sort === "joint" && state.value.parts.joints.some((one) => one.name === table.name) ? { kind: "joint", name: table.name } : { kind: "table", name: `${sort} ${k}` }; }}>${table.name || `${table.kind || sort} ${k + 1}`}</button>`)}</div></details>`)}<${Add} />`;
}

const PARTS = { table: Table, bar: Bar, point: Point, joint: Joint, body: Body, spring: Spring };

function Parameter({ one, rerun }) {
  const [range, set_range] = useState(null), value = one.value === null || one.value === undefined ? 0 : one.value, [low, high] = range || [value > 0 ? 0.5 * value : value - 1, value > 0 ? 1.5 * value : value + 1];
  const slide = async (event) => { if (!range) set_range([low, high]); const found = await try_act("set parameter", { name: one.name, value: +(+event.target.value).toPrecision(6) }, `slide ${one.name}`); if (found && runs.value.length) rerun(); };
  return html`<div class="parameter"><${Field} label=${one.name} name=${`parameter ${one.name}`} value=${bare(one.text)} change=${async (text) => { await act("set parameter", { name: one.name, value: text }); if (runs.value.length) rerun(); }} />
    <input type="range" aria-label=${`slide ${one.name}`} min=${low} max=${high} step="any" value=${value} onInput=${slide} onChange=${() => set_range(null)} /></div>`;
}

export function Inspector({ rerun }) {
  const { parts } = state.value, Build = in_space.value && !shown_run.value && BUILD[tool.value], chosen = Build ? null : selected.value, Part = chosen && PARTS[chosen.kind];
  if (Build) return html`<section class="inspector" aria-label="Inspector"><${Build} key=${tool.value} /></section>`;
  return html`<section class="inspector" aria-label="Inspector"><${Choices} />
    ${Part ? html`<${Part} name=${chosen.name} key=${`${chosen.kind} ${chosen.name}`} />` : html`<h2 class="h3">${state.value.name.replace(/\.toml$/, "")}</h2><p class="hint">Choose a bar, a point, a joint or a body to see its numbers.</p>
      <${Field} label="weight" name="gravity" unit="m/s\u00b2" value=${bare(parts.gravity)} change=${(gravity) => act("set gravity", { gravity })} />
      <${Field} label="duration" name="duration" unit="s" value=${bare(parts.duration)} change=${(duration) => act("set run", { duration })} />`}
    ${parts.parameters.length > 0 && html`<h3>Parameters</h3>${parts.parameters.map((one) => html`<${Parameter} key=${one.name} one=${one} rerun=${rerun} />`)}`}
    ${parts.springs.length > 0 && html`<h3>Springs</h3><div class="row">${parts.springs.map((one) => html`<button type="button" onClick=${() => { selected.value = { kind: "spring", name: one.name }; }}>${one.name}</button>`)}</div>`}
    ${!Part && html`<${Parts} />`}
    ${parts.changes.length > 0 && html`<h3>Changes on the way</h3><ul class="changes">${parts.changes.map((one, k) => html`<li>${one.at !== undefined ? `${one.at}${typeof one.at === "number" ? " s" : ""}` : `at ${one.event}`}: ${["lock", "unlock", "detach"].filter((word) => one[word]).map((word) => `${word} ${[].concat(one[word]).join(", ")}`).join("; ")}<button type="button" aria-label=${`remove change ${k + 1}`} onClick=${() => try_act("remove change", { number: k })}>Remove</button></li>`)}</ul>`}
  </section>`;
}

// The joints and bodies that a sentence speaks of, by their names in quotes.
function mentioned(text) {
  const { bodies, joints } = state.value.parts, names = [...text.matchAll(/'([^']+)'/g)].map((found) => found[1]);
  return [...new Set(names)].map((name) => (joints.some((one) => one.name === name) ? { kind: "joint", name } : bodies.some((one) => one.name === name) ? { kind: "body", name } : null)).filter(Boolean).slice(0, 3);
}

export function Told({ to }) {
  const run = shown_run.value; if (!run) return null;
  return html`<details class="told"><summary class=${run.told.accuracy === "to be looked at" ? "warn" : ""}>Accuracy: ${run.told.accuracy}</summary><ul>${run.told.audit.map((line) => html`<li class=${line.level}>${line.text} ${mentioned(line.text).map((part) => html`<button type="button" onClick=${() => { selected.value = part; }}>show ${part.name}</button>`)}</li>`)}</ul></details>
    ${run.told.changes.map((change) => html`<div class="change"><button type="button" class="go" title="go to that time" onClick=${() => to(change.t)}>${change.t.toFixed(3)} s: ${change.name}</button>${(change.impulses || []).map((line) => html`<p>${line}</p>`)}${change.told.length > 0 && html`<details><summary>What became of the joints</summary>${change.told.map((line) => html`<p>${line}</p>`)}</details>`}${change.energy_loss > 0 && html`<p>${bare(change.energy_loss)} J are lost.</p>`}</div>`)}`;
}
