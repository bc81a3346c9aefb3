// The page of the studio: bar on top, tools, scene, inspector with plots, time and runs below.

import { effect, html, render, useEffect, useRef, useState } from "./vendor/preact.js";
import { Field, Inspector, Told } from "./inspector.js";
import { Python, Text } from "./editor.js";
import { Stage } from "./stage.js";
import { ask, bring, cancel, compute, forget, is_guiding, is_starting, keep, lines, lost, mechanism_name, message, open, redo, resume, running, runs, save, say, selected, shown_run, side, state, take, tool, undo } from "./store.js";

const TOOLS = [
  ["select", "Select", "V", "choose, and drag what can move"], ["bar", "Bar", "B", "draw bars: press at one end, let go at the other"], ["ground", "Ground", "G", "put a point on the ground, or let it go"],
  ["slider", "Slider", "S", "let a point slide along a line"], ["motor", "Motor", "M", "let a joint turn"], ["spring", "Spring", "K", "stretch a spring between two points"], ["trace", "Trace", "T", "draw the way of a point"], ["erase", "Erase", "X", "take a point or a bar away"],
];

let stage = null;
const traces = () => (stage ? [...stage.player.traced] : []);
const attempt = (work) => work.catch((error) => say(error.message, true));

async function run() {
  if (state.value.why_not_run) { say(state.value.why_not_run, true); return; }
  const made = await compute({ traces: traces() }); if (!made) return;
  stage.show(); stage.player.grows = true; stage.player.set_time(stage.player.start); stage.player.play();
}

async function rerun() { const made = await compute({ replaces: true, traces: traces() }); if (made) { stage.show(); stage.player.grows = false; for (const plot of stage.player.plots) { plot.until = undefined; plot.draw(); } } }

function play() { if (shown_run.value && shown_run.value.revision === state.value.revision) stage.player.toggle(); else run(); }

function back_to_drawing() { shown_run.value = null; stage.show(); }

function use_tool(name) { if (stage) stage.end_wiggle(); tool.value = name; if (name !== "select" && shown_run.value) back_to_drawing(); say((TOOLS.find((one) => one[0] === name) || [])[3]); if (stage) stage.player.redraw(); }

async function save_as(over = false) {
  let name = ""; if (!state.value.file) { name = prompt("Save under which name?", state.value.name); if (!name) return; }
  try { await save({ name, over }); say(`Saved as ${state.value.file}.`); }
  catch (error) { if (error.code === 409 && confirm(`${error.message} Write over it?`)) return save_as(true); say(error.message, true); }
  return null;
}

async function share() {
  say("The page is being written."); running.value = { since: performance.now() };
  try { for await (const answer of lines("share", { traces: traces() })) { if (answer.kind === "done") { hand_over(answer.page, `${mechanism_name.value}.html`, "text/html"); say("The page is among your downloads."); } else say(answer.error, true); } }
  catch (error) { say(error.message, true); } finally { running.value = null; }
}

// A model file that is let go over the page is opened.
function drops() {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault(); const file = event.dataTransfer && event.dataTransfer.files[0]; if (!file) return;
    if (file.size > 4e6) { say(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; at most 4 MB are opened so.`, true); return; }
    try { await bring({ name: file.name, content: await file.text() }); shown_run.value = null; runs.value = []; selected.value = null; is_starting.value = false; tool.value = "select"; say(`${file.name} is open.`); }
    catch (error) { say(error.message, true); }
  });
}

function hand_over(content, name, type) { const link = document.createElement("a"); link.href = URL.createObjectURL(new Blob([content], { type })); link.download = name; link.click(); }

function Head() {
  const now = state.value;
  return html`<header class="head"><h1 class="brand">Catena</h1><span class="title" title=${now.file || "not saved yet"}>${mechanism_name.value}${now.is_saved ? "" : "*"}</span><span class="gap"></span>
    <button type="button" disabled=${!now.can_undo} title="undo (Ctrl+Z)" onClick=${() => attempt(undo())}>Undo</button><button type="button" disabled=${!now.can_redo} title="do again (Ctrl+Shift+Z)" onClick=${() => attempt(redo())}>Redo</button>
    <i></i><button type="button" onClick=${() => { is_starting.value = true; }}>Open</button><button type="button" title="save (Ctrl+S)" onClick=${() => save_as()}>Save</button>
    <button type="button" title="one page with motion and plots, which plays anywhere" disabled=${!!now.why_not_run || !!running.value} onClick=${share}>Share</button><i></i><button type="button" aria-pressed=${side.value === "text"} onClick=${() => { side.value = side.value === "text" ? "" : "text"; }}>Text</button><button type="button" aria-pressed=${side.value === "python"} onClick=${() => { side.value = side.value === "python" ? "" : "python"; }}>Python</button>
    <i></i><button type="button" aria-pressed=${is_guiding.value} onClick=${() => { is_guiding.value = !is_guiding.value; }}>First build</button></header>`;
}

function Tools() {
  return html`<nav class="toolbox" aria-label="Tools">${TOOLS.map(([name, word, key, hint]) => html`<button type="button" aria-pressed=${tool.value === name} title=${`${hint} (${key})`} onClick=${() => use_tool(name)}>${word}</button>`)}</nav>`;
}

function Status() {
  const now = state.value, fault = now.fault, [way, set_way] = useState(0), can = now.scene.live && !fault && !now.unfinished && now.ways > 0;
  const wiggle = async () => { try { const found = await ask("wiggle", { way: way % now.ways }); set_way((way + 1) % now.ways); shown_run.value = null; stage.wiggle(found.movie); } catch (error) { say(error.message, true); } };
  return html`<p class="status" role="status"><b class=${fault ? "bad" : now.unfinished ? "open" : "good"}></b>${fault ? `Line ${fault.line}: ${fault.words}` : now.words} ${can && html`<button type="button" title="see it move in each way in turn" onClick=${wiggle}>Wiggle${now.ways > 1 ? ` ${(way % now.ways) + 1} of ${now.ways}` : ""}</button>`}</p>`;
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

function Start() {
  const [found, set_found] = useState(null);
  useEffect(() => { attempt(ask("gallery").then(set_found)); }, []);
  const begin = (question, guided = false) => attempt(open(question).then(() => { is_starting.value = false; is_guiding.value = guided; shown_run.value = null; runs.value = []; selected.value = null; tool.value = guided || question.blank ? "bar" : "select"; stage.show(); }));
  return html`<div class="start" role="dialog" aria-label="Start"><div><div class="top"><h2 class="welcome">Catena studio</h2>${state.value.revision > 0 || !state.value.unfinished ? html`<button type="button" aria-label="back to the drawing" onClick=${() => { is_starting.value = false; }}>Back</button>` : null}</div>
    <div class="row"><button type="button" class="card" onClick=${() => begin({ blank: true }, true)}><b>First build</b>A four-bar of your own, step by step</button><button type="button" class="card" onClick=${() => begin({ blank: true })}><b>Blank</b>An empty plane to draw on</button></div>
    ${found && found.files.length > 0 && html`<h3>Open</h3><div class="cards">${found.files.map((file) => html`<button type="button" class="card" onClick=${() => begin({ file })}><b>${file}</b></button>`)}</div>`}
    <h3>Gallery</h3><div class="cards">${found ? found.gallery.map((one) => html`<button type="button" class="card" onClick=${() => begin({ generator: one.name })}><b>${one.name.replace(/_/g, " ")}</b>${one.about}</button>`) : html`<p class="hint">One moment</p>`}</div></div></div>`;
}

function Bottom() {
  const now = state.value, shown = shown_run.value, busy = running.value, [seconds, set_seconds] = useState(0);
  useEffect(() => { if (!busy) return undefined; const timer = setInterval(() => set_seconds((performance.now() - busy.since) / 1000), 200); return () => clearInterval(timer); }, [busy]);
  return html`<section class="runs" aria-label="Runs">
    ${busy ? html`<button type="button" class="run" onClick=${cancel}>Cancel</button><span class="hint" role="status">computing, ${seconds.toFixed(0)} s${busy.t !== undefined ? `; ${busy.t.toPrecision(3)} s of motion` : ""}</span>` : html`<button type="button" class="run" aria-disabled=${!!now.why_not_run} title=${now.why_not_run || "run it (space)"} onClick=${run}>Run</button>`}
    ${now.why_not_run && !busy && html`<span class="hint reason">${now.why_not_run}</span>`}
    <span class="gap"></span>
    ${runs.value.map((one) => html`<span class=${`chip${shown && shown.id === one.id ? " now" : ""}`}><button type="button" aria-pressed=${!!shown && shown.id === one.id} onClick=${() => { shown_run.value = one; stage.show(); }}>${one.is_kept ? "show" : one.name}</button>
      ${one.is_kept ? html`<input type="text" aria-label=${`name of run ${one.name}`} value=${one.name} onChange=${(event) => keep(one.id, event.target.value.trim())} />` : html`<button type="button" title="keep this run beside others" aria-label=${`keep run ${one.name}`} onClick=${() => keep(one.id)}>Keep</button>`}
      <button type="button" aria-label=${`delete run ${one.name}`} onClick=${() => { forget(one.id); stage.show(); }}>\u00d7</button></span>`)}
    ${runs.value.length > 1 && shown && html`<label class="compare">beside <select aria-label="run to compare with" onChange=${(event) => { const other = runs.value.find((one) => String(one.id) === event.target.value); for (const plot of stage.player.plots) plot.ghost = undefined; if (other) stage.set_ghost(other.movie); else stage.player.plots.forEach((plot) => plot.draw()); }}><option value="">nothing</option>${runs.value.filter((one) => one.id !== shown.id).map((one) => html`<option value=${one.id}>${one.name}</option>`)}</select></label>`}
    ${shown && html`<button type="button" onClick=${back_to_drawing}>Drawing</button>`}
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
    const { player } = stage, found = TOOLS.find((one) => one[2].toLowerCase() === key.toLowerCase());
    if (target.matches && target.matches("button, input, summary") && (key === " " || key === "Enter") && target !== player.slider) return;
    const act = { " ": play, ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1), Home: () => player.set_time(player.start), End: () => player.set_time(player.end), f: () => player.fit(), ",": () => player.to_event(-1), ".": () => player.to_event(1), Escape: () => { selected.value = null; use_tool("select"); say(""); } }[key] || (found && (() => use_tool(found[0])));
    if (act) { event.preventDefault(); act(); }
  });
}

function App() {
  const scene = useRef(null), plots = useRef(null);
  useEffect(() => {
    stage = new Stage(scene.current, plots.current); keys(); drops();
    // What is drawn is what is shown: an edit leaves the run, unless a slider computes another one.
    const watched = effect(() => { const now = state.value, run = shown_run.value; if (run && now.revision !== run.revision && now.can_undo !== "set parameter") { shown_run.value = null; return; } stage.show(); });
    const looks = effect(() => { selected.value; tool.value; stage.use_tool(); });
    const room = new ResizeObserver(() => { if (!stage.sees_all()) { stage.player.fit(); stage.player.touched = true; } }); room.observe(scene.current);
    return () => { watched(); looks(); room.disconnect(); };
  }, []);
  return html`<div class="studio"><${Head} />${lost.value && html`<p class="banner" role="alert">Python has ended or cannot be reached. What you drew is still here: <button type="button" onClick=${() => hand_over(state.value.text, state.value.name, "text/plain")}>Download the text</button> or start the studio again.</p>`}
    ${state.value.left && html`<p class="banner" role="status">A studio that ended has left work behind that was not saved. <button type="button" onClick=${() => attempt(resume().then(() => { is_starting.value = false; stage.show(); }))}>Resume it</button></p>`}
    <main class="middle"><${Tools} /><div class="scene"><div class="player" ref=${scene}></div><${Status} />${message.value && html`<p class=${`message${message.value.is_fault ? " fault" : ""}`} role=${message.value.is_fault ? "alert" : "status"}>${message.value.words}</p>`}</div>
    ${side.value === "text" && html`<${Text} />`}${side.value === "python" && html`<${Python} />`}
    <div class="right">${is_guiding.value && html`<${Guide} />`}<${Inspector} rerun=${rerun} /><${Told} /><div class="catena plots" ref=${plots}></div></div></main><${Bottom} />${is_starting.value && html`<${Start} />`}</div>`;
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
render(html`<${App} />`, document.getElementById("studio"));
follow();
