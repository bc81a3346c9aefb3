// The page of the studio: bar on top, tools, scene, inspector with plots, time and runs below.

import { effect, html, render, useEffect, useRef, useState } from "./vendor/preact.js";
import { dropped_mesh } from "./build.js";
import { Help } from "./help.js";
import { Structure } from "./insight.js";
import { Inspector, Told } from "./inspector.js";
import { Stage } from "./stage.js";
import { Study } from "./study.js";
import { ask, bring, cancel, compute, follow_link, forget, hand_over, in_space, is_guiding, is_starting, keep, lost, mechanism_name, message, open, picks, redo, resume, running, runs, save, save_run, say, selected, shown_run, side, state, take, tool, undo } from "./store.js";

const TOOLS = [
  ["select", "Select", "V", "choose, and drag what can move"], ["bar", "Bar", "B", "draw bars: press at one end, let go at the other"], ["ground", "Ground", "G", "put a point on the ground, or let it go"],
  ["slider", "Slider", "S", "let a point slide along a line"], ["motor", "Motor", "M", "let a joint turn"], ["spring", "Spring", "K", "stretch a spring between two points"], ["trace", "Trace", "T", "draw the way of a point"], ["erase", "Erase", "X", "take a point or a bar away"],
];
const SPACE = [
  ["select", "Select", "V", "choose, and drag what can move"], ["body", "Body", "B", "a new body: click where it is joined"], ["joint", "Joint", "J", "join two bodies: click a place on each"], ["chain", "Chain", "C", "a chain from a Denavit-Hartenberg or SDOF table"], ["frame", "Frame", "N", "give a point a name"],
  ["motor", "Motor", "M", "let a joint turn: click it"], ["controller", "Control", "P", "lead a joint to a place"], ["spring", "Spring", "K", "a spring with a damper: click its two ends"], ["gear", "Gears", "E", "let two joints turn together"], ["push", "Push", "U", "a force on a point"], ["contact", "Contact", "O", "a point that touches the floor"], ["trace", "Trace", "T", "draw the way of a body"], ["erase", "Erase", "X", "take a body or a joint away"],
];
const tools = () => (in_space.value ? SPACE : TOOLS);

// The editor is large and wanted by few: it is fetched when it is asked for.
function Editor({ which }) {
  const [found, set_found] = useState(null);
  useEffect(() => { import("./editor.js").then(set_found).catch((error) => say(error.message, true)); }, []);
  return found ? html`<${found[which]} />` : html`<section class="sheet"><p class="hint">One moment</p></section>`;
}

let stage = null;
const traces = () => (stage ? [...stage.player.traced] : []);
const attempt = (work) => work.catch((error) => say(error.message, true));

async function run() {
  if (state.value.why_not_run) { say(state.value.why_not_run, true); return; }
  const made = await compute({ traces: traces() }); if (!made || shown_run.value !== made) return;
  stage.show(); stage.player.grows = true; stage.player.set_time(stage.player.start); stage.player.play();
}

async function rerun() { const made = await compute({ replaces: true, traces: traces() }); if (made && shown_run.value === made) { stage.show(); stage.player.show_whole(); } }

function play() { if (shown_run.value && shown_run.value.revision === state.value.revision) stage.player.toggle(); else run(); }

function back_to_drawing() { shown_run.value = null; stage.show(); }

function use_tool(name) { if (stage) stage.end_wiggle(); tool.value = name; if (name !== "select" && shown_run.value) back_to_drawing(); picks.value = []; say((tools().find((one) => one[0] === name) || [])[3]); if (stage) stage.player.redraw(); }

async function save_as(over = false) {
  let name = ""; if (!state.value.file) { name = prompt("Save under which name?", state.value.name); if (!name) return; }
  try { await save({ name, over }); say(`Saved as ${state.value.file}.`); }
  catch (error) { if (error.code === 409 && confirm(`${error.message} Write over it?`)) return save_as(true); say(error.message, true); }
  return null;
}

// The forces that are shown, so that a film has them too.
const shown_forces = () => ["reactions", "actuators", "contacts", "applied"].filter((name) => stage.player.options[name]);
const share = (ending) => save_run(ending, mechanism_name.value, { traces: traces(), forces: shown_forces() });

// The scene as it is seen, at twice the size.
function picture() { const { player } = stage; player.pause(); player.busy = false; player.resize(); player.draw(performance.now()); player.canvas.toBlob((blob) => { hand_over(blob, `${mechanism_name.value}.png`); say("The picture is among your downloads."); }, "image/png"); }

async function copy_link() {
  try { const { link } = await ask("link"); try { await navigator.clipboard.writeText(link); say("The link is copied. It leads to the mechanism as it is now, while this studio runs."); } catch (error) { prompt("The link to the mechanism as it is now:", link); } } catch (error) { say(error.message, true); }
}

// A model file that is let go over the page, or chosen on the start page, is opened.
function drops() {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); take_file(event.dataTransfer && event.dataTransfer.files[0]); });
}

async function take_file(file) {
  if (!file) return;
  if (/\.(stl|obj)$/i.test(file.name)) { take_mesh(file); return; }
  if (file.size > 4e6) { say(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; at most 4 MB are opened so.`, true); return; }
  try { await bring({ name: file.name, content: await file.text() }); shown_run.value = null; runs.value = []; selected.value = null; is_starting.value = false; in_space.value = is_spatial(); tool.value = "select"; stage.show(); say(`${file.name} is open.`); }
  catch (error) { say(error.message, true); }
}

// A mesh that is dropped becomes the shape of the next body.
async function take_mesh(file) {
  if (file.size > 5e6) { say(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; at most 5 MB are taken so.`, true); return; }
  try { const bytes = new Uint8Array(await file.arrayBuffer()); let raw = ""; for (let k = 0; k < bytes.length; k += 4096) raw += String.fromCharCode(...bytes.subarray(k, k + 4096)); const { path } = await ask("mesh", { name: file.name, content: btoa(raw) }); dropped_mesh.value = path; in_space.value = true; is_starting.value = false; use_tool("body"); say(`${path}: click where it is joined.`); }
  catch (error) { say(error.message, true); }
}

function Share() {
  const box = useRef(null), now = state.value, cannot = now.why_not_run || (running.value ? "a run is under way" : ""), item = (words, hint, act, off) => html`<button type="button" disabled=${!!off} title=${off || ""} onClick=${() => { box.current.open = false; act(); }}>${words}<small>${hint}</small></button>`;
  return html`<details class="menu" ref=${box} onKeyDown=${(event) => { if (event.key === "Escape") { box.current.open = false; box.current.firstElementChild.focus(); } }} onFocusOut=${(event) => { if (event.relatedTarget && !box.current.contains(event.relatedTarget)) box.current.open = false; }}><summary>Share</summary><div role="group" aria-label="Share">
    ${item("Page", "motion and plots in one file that plays anywhere, .html", () => share(".html"), cannot)}${item("Film", "for slides and messages, .mp4", () => share(".mp4"), cannot)}${item("Moving picture", "for web pages, .webp", () => share(".webp"), cannot)}${item("Picture", "the scene as it is seen, .png", picture)}
    ${item("Table", "for spreadsheets, .csv", () => share(".csv"), cannot)}${item("Whole run", "NetCDF, for Python, Julia or MATLAB, .nc", () => share(".nc"), cannot)}${item("Text", "the mechanism itself, .toml", () => hand_over(now.text, `${mechanism_name.value}.toml`, "text/plain"))}${item("Link", "to the mechanism as it is now, on this studio", copy_link)}</div></details>`;
}

const open_side = (name) => { side.value = side.value === name ? "" : name; };

function Head() {
  const now = state.value;
  return html`<header class="head"><h1 class="brand">Catena</h1><span class="title" title=${now.file || "not saved yet"}>${mechanism_name.value}${now.is_saved ? "" : "*"}</span><span class="gap"></span>
    <button type="button" disabled=${!now.can_undo} title="undo (Ctrl+Z)" onClick=${() => attempt(undo())}>Undo</button><button type="button" disabled=${!now.can_redo} title="do again (Ctrl+Shift+Z)" onClick=${() => attempt(redo())}>Redo</button>
    <i></i><button type="button" onClick=${() => { is_starting.value = true; }}>Open</button><button type="button" title="save (Ctrl+S)" onClick=${() => save_as()}>Save</button>
<${Share} /><i></i>${[["structure", "Structure"], ["study", "Study"], ["text", "Text"], ["python", "Python"]].map(([name, word]) => html`<button type="button" aria-pressed=${side.value === name} onClick=${() => open_side(name)}>${word}</button>`)}
    <i></i><button type="button" aria-pressed=${is_guiding.value} onClick=${() => { is_guiding.value = !is_guiding.value; }}>First build</button><button type="button" aria-pressed=${side.value === "help"} aria-label="help" title="help and shortcuts (?)" onClick=${() => open_side("help")}>?</button></header>`;
}

function go_to(space) { if (in_space.value === space) return; in_space.value = space; use_tool("select"); stage.show(); }

function Tools() {
  return html`<nav class="toolbox" aria-label="Tools"><div class="switch" role="group" aria-label="plane or space"><button type="button" aria-pressed=${!in_space.value} title="draw in the plane" onClick=${() => go_to(false)}>2-D</button><button type="button" aria-pressed=${in_space.value} title="build in space" onClick=${() => go_to(true)}>3-D</button></div>${tools().map(([name, word, key, hint]) => html`<button type="button" aria-pressed=${tool.value === name} title=${`${hint} (${key})`} onClick=${() => use_tool(name)}>${word}</button>`)}</nav>`;
}

const is_bare = (now) => !!now.unfinished && !Object.keys(now.drawing.bars).length && !Object.keys(now.parts.tables).length;

function Status() {
  const now = state.value, fault = now.fault, [way, set_way] = useState(0), can = now.scene.live && !fault && !now.unfinished && now.ways > 0;
  const wiggle = async () => { try { const found = await ask("wiggle", { way: way % now.ways }); set_way((way + 1) % now.ways); shown_run.value = null; stage.wiggle(found.movie); } catch (error) { say(error.message, true); } };
  return html`<p class="status" role="status"><b class=${fault ? "bad" : now.unfinished ? "open" : "good"}></b>${fault ? `Line ${fault.line}: ${fault.words}` : in_space.value && is_bare(now) ? "Choose Body and click the floor where it is to be joined." : now.words} ${can && html`<button type="button" title="see it move in each way in turn" onClick=${wiggle}>Wiggle${now.ways > 1 ? ` ${(way % now.ways) + 1} of ${now.ways}` : ""}</button>`}</p>`;
}

function Guide() {
  const { drawing, parts } = state.value, bars = Object.keys(drawing.bars).length, fixed = Object.values(drawing.points).filter((point) => point.sort === "fixed").length;
  const steps = [
    [bars >= 1, "Choose Bar. Press where it begins, let go where it ends."], [bars >= 3, "Draw two more, each from the end of the one before: shared points become pins."],
    [fixed >= 2, "Choose Ground and click the first point and the last."], [parts.motors.length > 0, "Choose Motor and click a point on the ground."], [runs.value.length > 0, "Press Run, or the space bar."],
  ];
  const done = steps.findIndex(([is_done]) => !is_done), at = done < 0 ? steps.length : done;
  return html`<section class="guide" aria-label="First build"><header><strong>First build</strong><button type="button" aria-label="leave the first build" onClick=${() => { is_guiding.value = false; }}>Leave</button></header>
    <ol>${steps.map(([is_done, words], k) => html`<li class=${is_done ? "done" : k === at ? "now" : ""}>${words}</li>`)}</ol><p>${at === steps.length ? "It runs. Drag it, change a length, give it a spring." : `${at + 1} of ${steps.length}`}</p></section>`;
}

// Whether there is a mechanism that no drawing of bars has made.
const is_spatial = () => !!state.value.scene.live && !Object.keys(state.value.drawing.bars).length;

function Start() {
  const [found, set_found] = useState(null), chooser = useRef(null);
  useEffect(() => { attempt(ask("gallery").then(set_found)); }, []);
  const begin = (question, guided = false) => attempt(open(question).then(() => { is_starting.value = false; is_guiding.value = guided; shown_run.value = null; runs.value = []; selected.value = null; in_space.value = !!question.space || is_spatial(); tool.value = question.space ? "body" : guided || question.blank ? "bar" : "select"; if (question.space) say("Click the floor where the first body is to be joined."); stage.show(); }));
  return html`<div class="start" role="dialog" aria-label="Start"><div><div class="top"><h2 class="welcome">Catena studio</h2>${state.value.revision > 0 || !state.value.unfinished ? html`<button type="button" aria-label="back to the drawing" onClick=${() => { is_starting.value = false; }}>Back</button>` : null}</div>
    <div class="row"><button type="button" class="card" onClick=${() => begin({ blank: true }, true)}><b>First build</b>A four-bar of your own, step by step</button><button type="button" class="card" onClick=${() => begin({ blank: true })}><b>Blank plane</b>Draw bars, pins and sliders</button><button type="button" class="card" onClick=${() => begin({ blank: true, space: true })}><b>Blank space</b>Place bodies and joints in 3-D</button><button type="button" class="card" onClick=${() => chooser.current.click()}><b>Open a file</b>URDF, MJCF, SDF or a scenario; or drop it here</button><input type="file" ref=${chooser} hidden accept=".toml,.urdf,.xml,.mjcf,.sdf,.stl,.obj" aria-label="file to open" onChange=${(event) => take_file(event.target.files[0])} /></div>
    ${message.value && message.value.is_fault && html`<p class="fault" role="alert">${message.value.words}</p>`}
    ${found && found.files.length > 0 && html`<h3>Open</h3><div class="cards">${found.files.map((file) => html`<button type="button" class="card" onClick=${() => begin({ file })}><b>${file}</b></button>`)}</div>`}
    <h3>Gallery</h3><div class="cards">${found ? found.gallery.map((one) => html`<button type="button" class="card pictured" onClick=${() => begin({ generator: one.name })}><img src=${`/gallery/${one.name}.webp`} alt="" width="240" height="160" loading="lazy" /><b>${one.title}</b>${one.about}</button>`) : html`<p class="hint">One moment</p>`}</div></div></div>`;
}

function Bottom() {
  const now = state.value, shown = shown_run.value, busy = running.value, [seconds, set_seconds] = useState(0);
  useEffect(() => { if (!busy) return undefined; const timer = setInterval(() => set_seconds((performance.now() - busy.since) / 1000), 200); return () => clearInterval(timer); }, [busy]);
  return html`<section class="runs" aria-label="Runs"><div class="row">
    ${busy ? html`<button type="button" class="run" onClick=${cancel}>Cancel</button><span class="hint" role="status"><progress max="1" value=${busy.share === undefined ? undefined : busy.share} aria-label="how far the run is"></progress> ${busy.share === undefined ? "" : `${Math.floor(100 * busy.share)} %, `}${seconds.toFixed(0)} s${busy.t !== undefined ? `; ${busy.t.toPrecision(3)} s of motion` : ""}</span>` : html`<button type="button" class="run" aria-disabled=${!!now.why_not_run} title=${now.why_not_run || "run it (space)"} onClick=${run}>Run</button>`}
    ${now.why_not_run && !busy && html`<span class="hint reason">${is_bare(now) ? "there is nothing to run yet" : now.why_not_run}</span>`}</div>
    <span class="gap"></span><div class="row">
    ${runs.value.map((one) => html`<span key=${one.id} class=${`chip${shown && shown.id === one.id ? " now" : ""}`}><button type="button" aria-pressed=${!!shown && shown.id === one.id} onClick=${() => { shown_run.value = one; stage.show(); }}>${one.is_kept ? "show" : one.name}</button>
      ${one.is_kept ? html`<input type="text" aria-label=${`name of run ${one.name}`} value=${one.name} onChange=${(event) => keep(one.id, event.target.value.trim())} />` : html`<button type="button" title="keep this run beside others" aria-label=${`keep run ${one.name}`} onClick=${() => keep(one.id)}>Keep</button>`}
      <button type="button" aria-label=${`delete run ${one.name}`} onClick=${() => { forget(one.id); stage.show(); }}>\u00d7</button></span>`)}
    ${runs.value.length > 1 && shown && html`<label class="compare">beside <select aria-label="run to compare with" onChange=${(event) => { const other = runs.value.find((one) => String(one.id) === event.target.value); for (const plot of stage.player.plots) plot.ghost = undefined; if (other) stage.set_ghost(other.movie); else stage.player.plots.forEach((plot) => plot.draw()); }}><option value="">nothing</option>${runs.value.filter((one) => one.id !== shown.id).map((one) => html`<option value=${one.id}>${one.name}</option>`)}</select></label>`}
    ${shown && html`<button type="button" onClick=${back_to_drawing}>Drawing</button>`}</div>
  </section>`;
}

function keys() {
  document.addEventListener("keydown", (event) => {
    const { key, target } = event, writes = target.matches && target.matches("input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable], .cm-editor *"), ctrl = event.ctrlKey || event.metaKey;
    if (ctrl && key === "s") { event.preventDefault(); save_as(); return; }
    if (writes || is_starting.value) return;
    if (ctrl && key.toLowerCase() === "z") { event.preventDefault(); attempt(event.shiftKey ? redo() : undo()); return; }
    if (ctrl && key === "y") { event.preventDefault(); attempt(redo()); return; }
    if (ctrl || event.altKey) return;
    const { player } = stage, found = tools().find((one) => one[2].toLowerCase() === key.toLowerCase());
    if (target.matches && target.matches("button, input, summary") && (key === " " || key === "Enter") && target !== player.slider) return;
    const act = { " ": play, ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1), Home: () => player.set_time(player.start), End: () => player.set_time(player.end), f: () => player.fit(), ...player.zoom_keys(), "?": () => open_side("help"), ",": () => player.to_event(-1), ".": () => player.to_event(1), Escape: () => { selected.value = null; use_tool("select"); say(""); } }[key] || (found && (() => use_tool(found[0])));
    if (act) { event.preventDefault(); act(); }
  });
}

function App() {
  const scene = useRef(null), plots = useRef(null);
  useEffect(() => {
    stage = new Stage(scene.current, plots.current); keys(); drops();
    // What is drawn is what is shown: an edit leaves the run, unless a slider computes another one.
    const watched = effect(() => { const now = state.value, run = shown_run.value; if (run && now.revision !== run.revision && now.can_undo !== "set parameter") { shown_run.value = null; return; } stage.show(); });
    // On a small screen what was opened is below: it is brought up.
    const opens = effect(() => { if (side.value) requestAnimationFrame(() => requestAnimationFrame(() => { const sheet = document.querySelector(".sheet"); if (sheet) sheet.scrollIntoView({ block: "nearest" }); })); });
    const looks = effect(() => { selected.value; tool.value; picks.value; stage.use_tool(); });
    const room = new ResizeObserver(() => { if (!stage.sees_all()) { stage.player.fit(); stage.player.touched = true; } }); room.observe(scene.current);
    return () => { watched(); opens(); looks(); room.disconnect(); };
  }, []);
  return html`<div class="studio"><${Head} />${lost.value && html`<p class="banner" role="alert">Python has ended or cannot be reached. What you drew is still here: <button type="button" onClick=${() => hand_over(state.value.text, state.value.name, "text/plain")}>Download the text</button> or start the studio again.</p>`}
    ${state.value.left && html`<p class="banner" role="status">A studio that ended has left work behind that was not saved. <button type="button" onClick=${() => attempt(resume().then(() => { is_starting.value = false; stage.show(); }))}>Resume it</button></p>`}
    <main class="middle"><${Tools} /><div class="scene"><div class="player" ref=${scene}></div><${Status} />${message.value && html`<p class=${`message${message.value.is_fault ? " fault" : ""}`} role=${message.value.is_fault ? "alert" : "status"}>${message.value.words}</p>`}</div>
    ${side.value === "text" && html`<${Editor} which="Text" key="text" />`}${side.value === "python" && html`<${Editor} which="Python" key="python" />`}${side.value === "study" && html`<${Study} key=${state.value.name} />`}${side.value === "help" && html`<${Help} />`}${side.value === "structure" && html`<${Structure} play=${(movie) => { shown_run.value = null; stage.wiggle(movie); }} />`}
    <div class="right">${is_guiding.value && html`<${Guide} />`}<${Inspector} rerun=${rerun} /><${Told} to=${(t) => { stage.player.pause(); stage.player.set_time(t); }} /><div class="catena plots" ref=${plots}></div></div></main><${Bottom} />${is_starting.value && html`<${Start} />`}</div>`;
}

// Another window, or the program that started the studio, may have changed the text.
async function follow() {
  for (;;) {
    await new Promise((done) => setTimeout(done, 1000));
    if (document.hidden) continue;
    try { const found = await ask("wait", { revision: state.value.revision }); if (found.text !== undefined && found.revision > state.value.revision) take(found); } catch (error) { await new Promise((done) => setTimeout(done, 2000)); }
  }
}

take(await ask("state"));
is_starting.value = !!state.value.unfinished && state.value.revision === 0;
in_space.value = is_spatial();
// A link leads to the text as it was when the link was made.
const link = new URLSearchParams(location.search).get("link");
if (link) { history.replaceState(null, "", "/"); await attempt(follow_link({ link })); is_starting.value = false; in_space.value = is_spatial(); }
render(html`<${App} />`, document.getElementById("studio"));
follow();
