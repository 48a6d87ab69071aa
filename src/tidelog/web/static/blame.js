import { fill, h } from "./dom.js";
export async function showBlame(ground, route) { fill(ground, h("h1", {}, "Blame and repair")); }
