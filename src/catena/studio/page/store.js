// What all parts of the page know, and the questions they ask of Python. The text of the scenario lies there; here is a
// copy of it with a revision, and every edit says which revision it was made on.

import { batch, computed, signal } from "./vendor/preact.js";

export const state = signal(null);
export const tool = signal("select");
export const selected = signal(null); // { kind: "bar" | "point" | "joint" | "body", name }
export const message = signal(null); // { words, is_fault }
export const side = signal(""); // what is open beside the scene: "", "structure", "study", "text", "python", "help"
export const runs = signal([]);
export const shown_run = signal(null); // the run that is shown instead of the drawing, or null
export const running = signal(null); // { since } while a run is computed
export const lost = signal(false);
export const is_starting = signal(true);
export const is_guiding = signal(false);
export const in_space = signal(false); // whether bodies and joints are placed, and no bars are drawn
export const picks = signal([]); // features that were pointed at for what is being built
export const kept_count = signal(0);
export const mechanism_name = computed(() => (state.value ? state.value.name.replace(/\.toml$/, "") : ""));

export class Refused extends Error {
  constructor(words, code) { super(words); this.code = code; }
}

export async function ask(name, question = {}) {
  let reply;
  try {
    reply = await fetch(`/ask/${name}`, { method: "POST", headers: { "Content-Type": "application/json", "X-Catena": "1" }, body: JSON.stringify(question) });
  } catch (error) { lost.value = true; throw new Refused("Python has ended or cannot be reached.", 0); }
  lost.value = false;
  const found = await reply.json();
  if (reply.ok) return found;
  // Somebody else was quicker: the field that would say so is drawn anew from the text as it is now.
  if (found.state) { take(found.state); say(found.error, true); }
  throw new Refused(found.error || reply.statusText, reply.status);
}

export function take(found) { if (found && found.text !== undefined) state.value = found; return found; }

export const say = (words, is_fault = false) => { message.value = words ? { words, is_fault } : null; };

// Edits go one after the other, each on the revision that the one before has left.
let queue = Promise.resolve();
export function in_turn(work) { const done = queue.then(work); queue = done.catch(() => {}); return done; }

const asked = (name) => (question = {}) => in_turn(async () => { const found = take(await ask(name, { ...question, base: state.value.revision })); message.value = null; return found; });
export const undo = asked("undo"), redo = asked("redo"), save = asked("save"), open = asked("open"), drop = asked("drop"), bring = asked("bring"), resume = asked("resume"), set_text = asked("text"), turn = asked("turn"), place = asked("place"), follow_link = asked("follow");
const edit = asked("act");
export const act = (name, args, merge = "") => edit({ name, arguments: args, merge });

// What somebody did by pointing has no field to complain beside: it is said below the scene.
export const try_act = async (name, args, merge) => { try { return await act(name, args, merge); } catch (error) { say(error.message, true); return null; } };

export async function* lines(name, question) {
  let reply;
  try { reply = await fetch(`/ask/${name}`, { method: "POST", headers: { "Content-Type": "application/json", "X-Catena": "1" }, body: JSON.stringify(question) }); }
  catch (error) { lost.value = true; throw new Refused("Python has ended or cannot be reached.", 0); }
  if (!reply.ok) throw new Refused((await reply.json()).error, reply.status);
  const reader = reply.body.getReader(), decoder = new TextDecoder(); let rest = "";
  for (;;) {
    const { done, value } = await reader.read(); if (done) return;
    rest += decoder.decode(value, { stream: true }); const found = rest.split("\n"); rest = found.pop();
    for (const line of found) if (line) yield JSON.parse(line);
  }
}

// Runs.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
let wanted = false, named = 0;

// Compute a run of the text as it is. One is under way at a time; of what is asked for meanwhile the last is computed next.
export async function compute({ replaces = false, traces = [] } = {}) {
  if (running.value) { wanted = { replaces, traces }; return null; }
  running.value = { since: performance.now() }; let made = null; say(""); const shown = shown_run.value;
  // Who turns to the drawing or to another run meanwhile is left there.
  let latest = shown; const show = (run) => { if (shown_run.value?.id === latest?.id) shown_run.value = latest = run; };
  try {
    for await (const answer of lines("run", { traces })) {
      if (answer.kind === "failed") say(answer.error, true);
      if (answer.kind === "cancelled") say("The run was cancelled.");
      if (answer.kind === "progress") running.value = { ...running.value, share: answer.share };
      if (answer.kind === "part") { running.value = { ...running.value, t: answer.t }; show({ id: "part", movie: answer.movie, revision: answer.revision, digest: [], told: { accuracy: "not known yet", audit: [], changes: [] } }); }
      if (answer.kind === "done" && !answer.is_whole) say(`The run was ended at ${answer.until.toPrecision(4)} s.`);
      if (answer.kind === "done") made = { movie: answer.movie, told: answer.told, revision: answer.revision, digest: answer.digest, states: answer.states };
    }
  } catch (error) { say(error.message, true); }
  batch(() => {
    running.value = null;
    if (!made) { show(shown); return; }
    // A run that nobody keeps makes room for the next one, which takes its name over.
    const before = runs.value.find((run) => !run.is_kept);
    made.id = ++kept_count.value; made.is_kept = false; made.ghost = replaces && shown ? shown.ghost || shown.movie : null;
    made.name = before ? before.name : LETTERS[named++ % 26];
    runs.value = [...runs.value.filter((run) => run !== before), made]; show(made);
  });
  const next = wanted; wanted = false; if (next) return compute(next);
  return made;
}

// Hand a file over to the browser.
export function hand_over(content, name, type) { const link = document.createElement("a"); link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })); link.download = name; link.click(); setTimeout(() => URL.revokeObjectURL(link.href), 10000); }

// The run of the text as it is, or its study, as a file.
async function save_file(asked, ending, name, question) {
  running.value = { since: performance.now() }; say("The file is being written.");
  try {
    for await (const answer of lines(asked, { ending, ...question })) {
      if (answer.kind === "progress") running.value = { ...running.value, share: answer.share };
      if (answer.kind === "done") { const raw = atob(answer.content), bytes = new Uint8Array(raw.length); for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k); hand_over(new Blob([bytes]), name + ending); say(`${name + ending} is among your downloads.`); }
      if (answer.kind === "failed" || answer.kind === "cancelled") say(answer.error, answer.kind === "failed");
    }
  } catch (error) { say(error.message, true); } finally { running.value = null; }
}
export const save_run = (ending, name, question) => save_file("export", ending, name, question);
export const save_study = (ending) => save_file("study", ending, `${mechanism_name.value} study`, {});

// The study that the text says; null where it was cancelled.
export async function compute_study() {
  running.value = { since: performance.now() }; say(""); let made = null;
  try {
    for await (const answer of lines("study", {})) {
      if (answer.kind === "progress") running.value = { ...running.value, share: answer.share };
      if (answer.kind === "done") made = answer.study;
      if (answer.kind === "cancelled") say("The study was cancelled.");
      if (answer.kind === "failed") throw new Refused(answer.error, 400);
    }
  } finally { running.value = null; }
  return made;
}

export const cancel = () => ask("cancel").catch((error) => say(error.message, true));
export const keep = (id, name) => { runs.value = runs.value.map((run) => (run.id === id ? { ...run, is_kept: true, name: name || run.name } : run)); const now = runs.value.find((run) => run.id === id); if (shown_run.value && shown_run.value.id === id) shown_run.value = now; };
export const forget = (id) => { runs.value = runs.value.filter((run) => run.id !== id); if (shown_run.value && shown_run.value.id === id) shown_run.value = null; };
