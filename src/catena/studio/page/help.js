// Help that is always there: it lies beside the page and asks no network.

import { html } from "./vendor/preact.js";
import { side } from "./store.js";

const KEYS = [
  ["Space", "run it, play, pause"], ["\u2190 \u2192", "one picture back, on"], ["Home End", "to the start, to the end"], [", .", "to the event before, after"], ["+ \u2212 0", "zoom along the time of the plots, less of it, all"], ["V B G S M K T X", "select, bar, ground, slider, motor, spring, trace, erase"],
  ["F", "see everything"], ["Esc", "leave a tool"], ["Alt", "while drawing: leave the grid"], ["Ctrl+Z", "undo"], ["Ctrl+Shift+Z", "do again"], ["Ctrl+S", "save"], ["?", "this page"],
];
const TOPICS = [
  ["Draw in the plane", "Choose Bar, press where it begins and let go where it ends. Points that bars share become pins. Ground holds a point, Slider lets it slide along a line. The line above the scene says in how many ways it can move."],
  ["Build in space", "Press 3-D above the tools. Choose Body and click the floor, a face, an edge or the end of a cylinder: there it is joined. Joint brings two bodies together and closes loops. Chain takes Denavit-Hartenberg or SDOF tables."],
  ["Move it", "With Select, drag a bar or a body: the loops follow. Where it stands at a dead point, you are told which joint can drive it. Wiggle shows each way in which it can move."],
  ["Numbers", "Fields take units and formulas: 0.35 m, 350 mm, 30 deg, 60 rpm, 2 * crank. What cannot be is refused beside the field, and nothing changes. Make a slider of a length to see the run follow it."],
  ["Run it", "Run is grey until something moves it: a motor, a spring, weight. A click into a plot goes to that time; the pointer tells values; Shift and drag, Ctrl and wheel, or two fingers zoom along the time. Pull on a body while it runs or rests. Keep a run to compare it with the next one."],
  ["Change it on the way", "Choose a joint, type a time and press lock, unlock or detach. The time line shows it, with what is lost and struck."],
  ["Forces", "Show, above the scene, has reactions, motors and contacts as arrows; the pointer tells their values."],
  ["Understand it", "Structure draws the graph of bodies and joints, says what is redundant or stuck, finds vibrations and the other ways to close the loops."],
  ["Vary it", "Study computes the run many times with other numbers and draws what comes of it; a click on a point shows its numbers, and they can be taken over."],
  ["Keep and share", "Save writes the text. Share makes a page that plays anywhere, a film, a picture, a table or the whole run. Text and Python show what is behind it all: the text is the mechanism, and everything here edits it."],
  ["Looking around", "Drag beside the mechanism to turn, Shift and drag to shift, the wheel to come nearer; in the plane a drag shifts. Two fingers do both."],
];

export function Help() {
  return html`<section class="sheet" aria-label="Help"><header><strong>Help</strong><button type="button" aria-label="close the help" onClick=${() => { side.value = ""; }}>Close</button></header>
    <div class="scrolls" tabindex="0">${TOPICS.map(([title, words]) => html`<h3>${title}</h3><p>${words}</p>`)}<h3>Keys</h3><dl class="keys">${KEYS.map(([key, words]) => html`<dt><kbd>${key}</kbd></dt><dd>${words}</dd>`)}</dl></div></section>`;
}
