import { h, render, Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal, computed, effect, batch } from "@preact/signals";
import htm from "htm";
export const html = htm.bind(h);
export { h, render, Fragment, useEffect, useRef, useState, signal, computed, effect, batch };
