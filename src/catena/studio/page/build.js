// Building in space: forms for bodies, joints, springs, gears, pushes, contacts, controllers and chains. What a form wants
// to know of the scene is pointed at there.

import { html, signal, useEffect, useState } from "./vendor/preact.js";
import { act, picks, say, selected, state, tool } from "./store.js";

const KINDS = ["revolute", "prismatic", "cylindrical", "helical", "universal", "spherical", "planar", "free", "fixed"];
const MEANT = { revolute: "turns about the axis", prismatic: "slides along the axis", cylindrical: "turns about and slides along the axis", helical: "a screw along the axis", universal: "turns about two axes across the axis", spherical: "a ball in a socket", planar: "slides and turns in the plane across the axis", free: "nothing holds it", fixed: "firmly together" };
export const dropped_mesh = signal("");

// Fields with one state, a fault and what is done with them.
function useForm(first, send) {
  const [values, set] = useState(first), [fault, set_fault] = useState("");
  const put = (key) => (event) => set({ ...values, [key]: event.target.type === "checkbox" ? event.target.checked : event.target.value });
  const submit = async (event) => { event.preventDefault(); try { await send(values); set_fault(""); picks.value = []; } catch (error) { set_fault(error.message); } };
  const input = (key, label, unit = "", hint = "") => html`<label class="field"><span>${label}</span><span class="box"><input type="text" name=${`build ${key}`} value=${values[key]} placeholder=${hint} onInput=${put(key)} /><em>${unit}</em></span></label>`;
  const choose = (key, label, options) => html`<label class="field"><span>${label}</span><select name=${`build ${key}`} value=${values[key]} onChange=${put(key)}>${options.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`;
  const check = (key, label) => html`<label class="field check"><input type="checkbox" name=${`build ${key}`} checked=${values[key]} onChange=${put(key)} /><span>${label}</span></label>`;
  return { values, set, fault, submit, input, choose, check };
}

// The features that were pointed at, one for each place that is wanted.
function Places({ words }) {
  return html`<ol class="places">${words.map((each, k) => html`<li class=${picks.value[k] ? "done" : k === picks.value.length ? "now" : ""}><b>${each}</b> ${picks.value[k] ? picks.value[k].words : k === picks.value.length ? "click it in the scene" : ""}
    ${picks.value[k] && html`<button type="button" aria-label=${`choose ${each} again`} onClick=${() => { picks.value = picks.value.slice(0, k); }}>again</button>`}</li>`)}</ol>`;
}

const plain = ({ body, p, z }) => ({ body, p, z });
const wanted = (count) => { if (picks.value.length < count) throw new Error(count === 1 ? "Click in the scene where it is to be." : "Click both places in the scene."); return picks.value.map(plain); };
const Frame = ({ title, hint, form, children, button }) => html`<form class="build" onSubmit=${form.submit}><h3>${title}</h3>${hint && html`<p class="hint">${hint}</p>`}${children}${form.fault && html`<small class="fault" role="alert">${form.fault}</small>`}<button type="submit" class="main">${button}</button></form>`;
const joints = () => ["", ...state.value.parts.joints.filter((one) => one.freedom === 1).map((one) => one.name)];

function Body() {
  const form = useForm({ shape: dropped_mesh.value ? "mesh" : "box", name: "", kind: "revolute", along: "x", length: "0.5 m", width: "5 cm", height: "5 cm", density: "7850 kg/m^3", path: dropped_mesh.value, scale: "1", centred: false, pitch: "1 cm" }, async (v) => {
    const [at] = wanted(1), found = await act("add solid", { ...v, path: dropped_mesh.value || v.path, at }); say(`${found.parts.bodies[found.parts.bodies.length - 1].name} is there. Click where the next one is to be.`); form.set({ ...form.values, name: "" });
  });
  const { values: v, set } = form;
  useEffect(() => { if (dropped_mesh.value) set((was) => ({ ...was, shape: "mesh", path: dropped_mesh.value })); }, [dropped_mesh.value]);
  return html`<${Frame} title="New body" hint="A body hangs on another one, or on the ground, by a joint. Its axis is that of the face, edge or cylinder that you click." form=${form} button="Add the body">
    <${Places} words=${["Where"]} />${form.choose("kind", "joint", KINDS)}<p class="hint">${MEANT[v.kind]}</p>${v.kind === "helical" && form.input("pitch", "pitch", "m")}
    ${form.choose("shape", "shape", ["box", "cylinder", "sphere", "mesh"])}
    ${v.shape === "mesh" ? html`<p class="hint">${v.path || "Drop an .stl or .obj file onto the page."}</p>${form.input("scale", "scale")}` : html`${form.input("length", v.shape === "sphere" ? "diameter" : "length", "m")}${v.shape !== "sphere" && form.input("width", v.shape === "cylinder" ? "diameter" : "width", "m")}${v.shape === "box" && form.input("height", "height", "m")}`}
    ${v.shape !== "mesh" && v.shape !== "sphere" && form.choose("along", "reaches along", ["x", "y", "z"])}${v.shape !== "mesh" && form.check("centred", "the joint is in its middle")}
    ${form.input("density", "density", "kg/m\u00b3")}${form.input("name", "name", "", "chosen for you")}<//>`;
}

function Joint() {
  const form = useForm({ kind: "revolute", name: "", pitch: "1 cm" }, async (v) => { const [one, two] = wanted(2), [a, b] = picks.value; await act("join features", { ...v, one, two, turned: b.turned_from ? b.turned_from(a.index) : undefined }); selected.value = null; });
  return html`<${Frame} title="New joint" hint="Between two bodies that are there: their points and axes come together, and loops close." form=${form} button="Join them"><${Places} words=${["On the one", "On the other"]} />${form.choose("kind", "joint", KINDS)}<p class="hint">${MEANT[form.values.kind]}</p>${form.values.kind === "helical" && form.input("pitch", "pitch", "m")}${form.input("name", "name", "", "chosen for you")}<//>`;
}

function Spring() {
  const form = useForm({ stiffness: "200 N/m", damping: "0 N*s/m", rest: "" }, async (v) => { const [one, two] = wanted(2), [a, b] = picks.value; await act("add spring at", { ...v, one, two, apart: Math.hypot(...a.world.map((x, k) => x - b.world[k])) }); });
  return html`<${Frame} title="New spring" form=${form} button="Add the spring"><${Places} words=${["From", "To"]} />${form.input("stiffness", "stiffness", "N/m")}${form.input("damping", "damping", "N s/m")}${form.input("rest", "length at rest", "m", "as it is now")}<//>`;
}

function Gear() {
  const form = useForm({ sort: "gears", one: "", two: "", first: "20", second: "40" }, async (v) => { if (!v.one || !v.two) throw new Error("Choose two joints."); await act("add gear", v); });
  const belt = form.values.sort === "belt";
  return html`<${Frame} title="Gears or a belt" hint="Two joints that turn together." form=${form} button="Tie them">${form.choose("sort", "sort", ["gears", "internal gears", "belt"])}${form.choose("one", "first joint", joints())}${form.input("first", belt ? "its diameter" : "its teeth", belt ? "m" : "")}${form.choose("two", "second joint", joints())}${form.input("second", belt ? "its diameter" : "its teeth", belt ? "m" : "")}<//>`;
}

function Push() {
  const form = useForm({ x: "0", y: "0", z: "-10 N" }, async (v) => { const [at] = wanted(1); await act("add push", { at, force: [v.x, v.y, v.z] }); });
  return html`<${Frame} title="New push" hint="A force that acts at a point for the whole run, along the axes of the ground." form=${form} button="Push there"><${Places} words=${["Where"]} />${form.input("x", "force along x", "N")}${form.input("y", "along y", "N")}${form.input("z", "along z", "N")}<//>`;
}

function Contact() {
  const form = useForm({ friction: "0.5", restitution: "0", radius: "0" }, async (v) => { const [at] = wanted(1); await act("add contact at", { ...v, at }); });
  return html`<${Frame} title="New contact" hint="A point, or a ball around it, that does not go through the floor (z = 0)." form=${form} button="Let it touch"><${Places} words=${["Where"]} />${form.input("friction", "friction")}${form.input("restitution", "how it bounces", "", "0 to 1")}${form.input("radius", "radius", "m")}<//>`;
}

function Controller() {
  const form = useForm({ joint: "", target: "30 deg", kp: "100", ki: "0", kd: "10" }, async (v) => { if (!v.joint) throw new Error("Choose a joint."); await act("set controller", v); });
  return html`<${Frame} title="New controller" hint="Leads a joint to a place, or along a formula of t such as 0.3 * sin(2 * t)." form=${form} button="Control it">${form.choose("joint", "joint", joints())}${form.input("target", "to", "rad, m")}${form.input("kp", "gain, position")}${form.input("ki", "gain, integral")}${form.input("kd", "gain, speed")}<//>`;
}

function Named() {
  const form = useForm({ name: "" }, async (v) => { const [at] = wanted(1); await act("add frame at", { at, ...v }); });
  return html`<${Frame} title="New frame" hint="A named point of a body, with axes, to trace or to speak of." form=${form} button="Name it"><${Places} words=${["Where"]} />${form.input("name", "name", "", "chosen for you")}<//>`;
}

// A chain as a table: one row a link.

const COLUMNS = { denavit_hartenberg: ["a", "alpha", "d", "theta", "kind"], sdof: ["rx", "ry", "rz", "dx", "dy", "dz", "motions"] }, MASS = ["mass", "com x", "com y", "com z", "Ixx", "Iyy", "Izz"];
const START = { denavit_hartenberg: { a: "0", alpha: "0", d: "0.4", theta: "0", kind: "revolute" }, sdof: { rx: "0", ry: "0", rz: "0", dx: "0.4", dy: "0", dz: "0", motions: "rz" } };
const LIGHT = { mass: "1", "com x": "0", "com y": "0", "com z": "0", Ixx: "0.01", Iyy: "0.01", Izz: "0.01" };

export function Chain({ number }) {
  const given = number === undefined ? null : state.value.parts.chains[number];
  const [table, set] = useState(given || { notation: "denavit_hartenberg", rows: [{ ...START.denavit_hartenberg, ...LIGHT }], place: { prefix: "" } }), [fault, set_fault] = useState("");
  useEffect(() => { if (given) set(given); }, [state.value.revision]);
  const columns = [...COLUMNS[table.notation], ...MASS], row = { ...START[table.notation], ...LIGHT };
  const cell = (k, key, value) => set({ ...table, rows: table.rows.map((each, i) => (i === k ? { ...each, [key]: value } : each)) });
  const place = (key, label, hint) => html`<label class="field"><span>${label}</span><input type="text" name=${`chain ${key}`} value=${table.place[key] || ""} placeholder=${hint} onInput=${(event) => set({ ...table, place: { ...table.place, [key]: event.target.value } })} /></label>`;
  const send = async (event) => { event.preventDefault(); try { await act("set chain", { notation: table.notation, rows: table.rows, ...table.place, ...(number === undefined ? {} : { number }) }); set_fault(""); if (number === undefined) tool.value = "select"; } catch (error) { set_fault(error.message); } };
  return html`<form class="build chain" onSubmit=${send}><h3>${given ? "Chain" : "New chain"}</h3><p class="hint">One row a link, as papers print it. Angles in rad unless you type deg.</p>
    <label class="field"><span>notation</span><select name="chain notation" value=${table.notation} onChange=${(event) => { const notation = event.target.value; set({ ...table, notation, rows: table.rows.map((each) => ({ ...START[notation], ...LIGHT, ...Object.fromEntries(Object.entries(each).filter(([key]) => MASS.includes(key))) })) }); }}><option value="denavit_hartenberg">Denavit-Hartenberg</option><option value="sdof">SDOF (gamma, phi)</option></select></label>
    <div class="grid" tabindex="0"><table><thead><tr><th></th>${columns.map((key) => html`<th>${key}</th>`)}<th></th></tr></thead><tbody>${table.rows.map((each, k) => html`<tr key=${k}><th>${k + 1}</th>${columns.map((key) => html`<td>${key === "kind" ? html`<select aria-label=${`${key} of link ${k + 1}`} value=${each[key] || "revolute"} onChange=${(event) => cell(k, key, event.target.value)}><option>revolute</option><option>prismatic</option></select>` : html`<input type="text" aria-label=${`${key} of link ${k + 1}`} value=${each[key] === undefined ? "" : each[key]} onInput=${(event) => cell(k, key, event.target.value)} />`}</td>`)}<td>${table.rows.length > 1 && html`<button type="button" aria-label=${`remove link ${k + 1}`} onClick=${() => set({ ...table, rows: table.rows.filter((_, i) => i !== k) })}>\u00d7</button>`}</td></tr>`)}</tbody></table></div>
    <button type="button" onClick=${() => set({ ...table, rows: [...table.rows, row] })}>Another link</button>
    ${place("prefix", "names begin with", "arm ")}${place("on", "hangs on", "ground")}${place("base", "base at", "{ p = [0, 0, 0] }")}${fault && html`<small class="fault" role="alert">${fault}</small>`}<button type="submit" class="main">${given ? "Change the chain" : "Add the chain"}</button></form>`;
}

export const BUILD = { body: Body, joint: Joint, spring: Spring, gear: Gear, push: Push, contact: Contact, controller: Controller, frame: Named, chain: Chain };
export const PLACES = { body: 1, joint: 2, spring: 2, push: 1, contact: 1, frame: 1 };
