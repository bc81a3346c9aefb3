// The text of the scenario to be read and typed, with faults on their lines, and the program that computes the same.

import { EditorState, EditorView, StreamLanguage, classHighlighter, defaultKeymap, highlightActiveLine, history, historyKeymap, keymap, lineNumbers, lintGutter, setDiagnostics, syntaxHighlighting, toml } from "./vendor/codemirror.js";
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { ask, say, set_text, side, state } from "./store.js";

const PATIENCE = 350; // milliseconds after the last letter before a text is sent

export function Text() {
  const host = useRef(null), view = useRef(null), timer = useRef(0), is_ours = useRef(false);
  useEffect(() => {
    const send = async () => { timer.current = 0; const text = view.current.state.doc.toString(); if (text === state.value.text) return; try { await set_text({ text }); } catch (error) { say(error.message, true); } };
    view.current = new EditorView({ parent: host.current, state: EditorState.create({ doc: state.value.text, extensions: [
      lineNumbers(), lintGutter(), highlightActiveLine(), history(), keymap.of([...defaultKeymap, ...historyKeymap]), StreamLanguage.define(toml), syntaxHighlighting(classHighlighter), EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "text of the scenario" }),
      EditorView.updateListener.of((update) => { if (update.docChanged && !is_ours.current) { clearTimeout(timer.current); timer.current = setTimeout(send, PATIENCE); } }),
    ] }) });
    view.current.scrollDOM.tabIndex = 0; window.catena.editor = view.current;
    return () => { clearTimeout(timer.current); view.current.destroy(); };
  }, []);
  const { text, fault } = state.value;
  useEffect(() => {
    const { current } = view; if (!current || timer.current) return;
    if (current.state.doc.toString() !== text) { is_ours.current = true; current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: text } }); is_ours.current = false; }
    const line = fault ? current.state.doc.line(Math.max(1, Math.min(fault.line, current.state.doc.lines))) : null;
    current.dispatch(setDiagnostics(current.state, line ? [{ from: line.from, to: Math.max(line.to, line.from), severity: "error", message: fault.words }] : []));
  }, [text, fault]);
  return html`<section class="sheet" aria-label="Text"><header><strong>Text</strong><button type="button" aria-label="close the text" onClick=${() => { side.value = ""; }}>Close</button></header>
    <div class="editor" ref=${host}></div>${fault && html`<p class="fault" role="alert">Line ${fault.line}: ${fault.words}</p>`}</section>`;
}

export function Python() {
  const [code, set_code] = useState("");
  useEffect(() => { ask("python").then((found) => set_code(found.python)).catch((error) => say(error.message, true)); }, [state.value.revision]);
  return html`<section class="sheet" aria-label="Python"><header><strong>Python</strong><button type="button" onClick=${() => navigator.clipboard && navigator.clipboard.writeText(code)}>Copy</button><button type="button" aria-label="close the program" onClick=${() => { side.value = ""; }}>Close</button></header>
    <p class="hint">This program computes the same run.</p><pre class="code" tabindex="0">${code}</pre></section>`;
}
