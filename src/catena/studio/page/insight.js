// What there is to understand of the mechanism: its graph, sentences on what holds it, its vibrations and its branches.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { ask, drop, say, selected, side, state } from "./store.js";

const WIDE = 152, HIGH = 46; // pixels from body to body
const MANY = 24; // ways to close loops that are listed

function Graph({ places, edges }) {
  const names = Object.keys(places), low = Math.min(...Object.values(places).map(([, y]) => y)), high = Math.max(...Object.values(places).map(([, y]) => y)), deep = Math.max(...Object.values(places).map(([x]) => x));
  const at = (name) => [20 + places[name][0] * WIDE, 20 + (high - places[name][1]) * HIGH], w = 40 + deep * WIDE + 70, h = 50 + (high - low) * HIGH + (edges.some((edge) => edge.is_loop) ? 26 : 0);
  // Words that would lie on others go down until they are free.
  const taken = [], free = (x, y, words) => { const half = 3.2 * words.length; while (taken.some(([a, b, c]) => Math.abs(a - x) < half + c && Math.abs(b - y) < 13)) y += 13; taken.push([x, y, half]); return y; };
  const choose = (kind, name) => () => { selected.value = { kind, name }; };
  return html`<svg class="graph" width=${w} height=${h} viewBox="0 0 ${w} ${h}" role="img" aria-label="the graph of bodies and joints">
    ${edges.map((edge) => { const [x1, y1] = at(edge.near), [x2, y2] = at(edge.far), bend = edge.is_loop ? 30 + 0.15 * Math.abs(x2 - x1) : 0, mx = (x1 + x2) / 2 + 34, words = `${edge.joint}: ${edge.letters}`, my = free(mx, (y1 + y2) / 2 + bend * 0.75 - 4, words); return html`<g class=${edge.is_loop ? "edge loop" : "edge"} onClick=${choose("joint", edge.joint)}><path d=${`M${x1 + 34} ${y1}Q${mx} ${(y1 + y2) / 2 + 1.5 * bend} ${x2 + 34} ${y2}`}/><text x=${mx} y=${my}>${words}</text><title>${edge.joint}: ${edge.word}${edge.is_loop ? `, closes a loop (${edge.constraints} conditions)` : ""}</title></g>`; })}
    ${names.map((name) => { const [x, y] = at(name); return html`<g class=${name === "ground" ? "node ground" : "node"} onClick=${choose("body", name)}><rect x=${x} y=${y - 12} width="68" height="24" rx="5"/><text x=${x + 34} y=${y + 4}>${name.length > 10 ? `${name.slice(0, 9)}\u2026` : name}</text><title>${name}</title></g>`; })}</svg>`;
}

export function Structure({ play }) {
  const [found, set_found] = useState(null), [modes, set_modes] = useState(null), [branches, set_branches] = useState(null), [fault, set_fault] = useState(""), [sought, set_sought] = useState("");
  const holder = useRef(null); // ground is in the middle of what it carries, which may be far down
  useEffect(() => { if (holder.current) { const box = holder.current, at = box.querySelector(".ground").getBoundingClientRect(); box.scrollTop += at.top - box.getBoundingClientRect().top - 0.5 * box.clientHeight; } }, [found]);
  useEffect(() => { set_modes(null); set_branches(null); set_fault(""); ask("structure").then(set_found).catch((error) => { set_found(null); set_fault(error.message); }); }, [state.value.revision]);
  const look = (what, take) => { set_sought(what); return ask(what).then((told) => { take(told); set_fault(""); }).catch((error) => set_fault(error.message)).finally(() => set_sought("")); };
  const seek = (what, words, take) => html`<button type="button" disabled=${sought !== ""} onClick=${() => look(what, take)}>${sought === what ? "One moment" : words}</button>`;
  const shake = async (mode) => { try { play((await ask("mode", { mode })).movie); } catch (error) { say(error.message, true); } };
  return html`<section class="sheet" aria-label="Structure"><header><strong>Structure</strong><button type="button" aria-label="close the structure" onClick=${() => { side.value = ""; }}>Close</button></header>
    <div class="scrolls" tabindex="0">${found && html`<div class="holder" tabindex="0" ref=${holder}><${Graph} ...${found} /></div><p class="hint">Boxes are bodies, lines are joints. The solid ones are the tree that carries the coordinates; those in orange close loops.</p>
      <ul class="sentences">${found.sentences.map((one) => html`<li>${one.words} ${one.kind && html`<button type="button" onClick=${() => { selected.value = { kind: one.kind, name: one.name }; }}>show ${one.name}</button>`}</li>`)}</ul>
      <h3>Vibrations</h3>${modes ? html`${modes.is_elsewhere && html`<p class="hint">About where it comes to rest, not where it is drawn.</p>`}${modes.modes.length ? html`<div class="row">${modes.modes.map((one, k) => html`<button type="button" onClick=${() => shake(one.mode)}>${`mode ${k + 1}: ${+one.hertz.toPrecision(3)} Hz${Math.abs(one.damping) > 1e-6 ? `, damping ${+(100 * one.damping).toPrecision(2)} %` : ""}`}</button>`)}</div>` : html`<p class="hint">Nothing swings: there is no spring or weight that brings it back.</p>`}` : seek("modes", "Find its modes", set_modes)}
      ${found.edges.some((edge) => edge.is_loop) && html`<h3>Branches</h3>${branches ? html`<p class="hint">With ${branches.held.join(", ") || "nothing"} where it is, the loops close in ${branches.branches.length} way${branches.branches.length > 1 ? "s" : ""}${branches.branches.length > MANY ? `, of which the ${MANY} nearest are here` : ""}.</p><div class="row">${branches.branches.slice(0, MANY).map((q, k) => html`<button type="button" aria-pressed=${k === 0} onClick=${() => drop({ q }).then(() => look("branches", set_branches)).catch((error) => say(error.message, true))}>${k === 0 ? "as it is" : `way ${k + 1}`}</button>`)}</div>` : seek("branches", "Find other ways to close it", set_branches)}`}`}
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}</div></section>`;
}
