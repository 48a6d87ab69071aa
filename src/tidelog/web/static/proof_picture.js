// A proof as a graph: each fact once, what it rests on below it.

import { askGraph } from "./calls.js";
import { cut, h, s } from "./dom.js";
import { showError } from "./notices.js";

/** @typedef {import("../replies.js").GraphReply} Graph */

const HEIGHT = 46;
const ACROSS = 18;
const BETWEEN = 40;
const LETTER = 7.4;
const LONGEST = 44;
const COLOURS = {
  ground: "#ffffff",
  line: "#8aa0a9",
  ink: "#12222a",
  quiet: "#566a73",
  input: "#e0f1f4",
  derived: "#ffffff",
  fold: "#f3f6f7",
};

/** @param {import("./calls.js").NodeName} name */
export async function proofPicture(name) {
  const graph = await askGraph(name);
  const drawn = draw(graph);
  // The root is in the middle: it is what one wants to see first.
  requestAnimationFrame(() => {
    const box = drawn.parentElement;
    if (box) box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
  });
  const words = graph.is_cut ? "The facts nearest to the root; there are more." : "";
  return h(
    "div",
    { class: "picture-side" },
    h("div", { class: "scrolls drawing", tabindex: 0, role: "group", "aria-label": "Picture of the proof" }, drawn),
    words ? h("p", { class: "quiet pad" }, words) : null,
  );
}

/**
 * Draw boxes in layers, the root at the top. Colours are attributes, so that the file looks the same alone.
 * @param {Graph} graph
 */
export function draw({ nodes }) {
  const layers = order(nodes, layersOf(nodes));
  const widths = nodes.map((node) => Math.max(node.text.length, node.note.length, 6));
  const width = (/** @type {number} */ number) => Math.min(widths[number], LONGEST) * LETTER + 20;
  const lengths = layers.map((layer) => layer.reduce((sum, each) => sum + width(each) + ACROSS, -ACROSS));
  const whole = Math.max(...lengths);
  /** @type {Map<number, { x: number, y: number }>} */
  const places = new Map();
  layers.forEach((layer, depth) => {
    let x = (whole - lengths[depth]) / 2 + 10;
    for (const each of layer) {
      places.set(each, { x, y: 10 + depth * (HEIGHT + BETWEEN) });
      x += width(each) + ACROSS;
    }
  });
  const size = [whole + 20, layers.length * (HEIGHT + BETWEEN) - BETWEEN + 20];
  const title = s("title", {}, `The proof of ${nodes[0].text}`);
  const picture = s(
    "svg",
    { viewBox: `0 0 ${size[0]} ${size[1]}`, width: size[0], height: size[1], class: "proof-picture", role: "img" },
    title,
    s("rect", { width: size[0], height: size[1], fill: COLOURS.ground, class: "ground-box" }),
  );
  nodes.forEach((node, number) => {
    for (const premise of node.premises) picture.append(edge(places, number, premise, width));
  });
  nodes.forEach((node, number) => {
    picture.append(box(node, places.get(number) ?? { x: 0, y: 0 }, width(number)));
  });
  return picture;
}

/**
 * @param {Graph["nodes"][number]} node
 * @param {{ x: number, y: number }} place
 * @param {number} width
 */
function box(node, { x, y }, width) {
  const font = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
  const text = { "font-family": font, "text-anchor": "middle", x: x + width / 2 };
  return s(
    "g",
    {},
    s("title", {}, `${node.text} — ${node.note}`),
    s("rect", {
      x,
      y,
      width,
      height: HEIGHT,
      rx: node.kind === "input" ? 22 : 8,
      fill: COLOURS[node.kind],
      stroke: COLOURS.line,
      class: `box ${node.kind}`,
      "stroke-dasharray": node.kind === "fold" ? "4 3" : null,
    }),
    s("text", { ...text, y: y + 20, "font-size": 12, fill: COLOURS.ink, class: "ink" }, cut(node.text, LONGEST)),
    s(
      "text",
      { ...text, y: y + 36, "font-size": 10.5, fill: COLOURS.quiet, class: "small-ink" },
      cut(node.note, LONGEST),
    ),
  );
}

/**
 * @param {Map<number, { x: number, y: number }>} places
 * @param {number} from
 * @param {number} to
 * @param {(number: number) => number} width
 */
function edge(places, from, to, width) {
  const [above, below] = [places.get(from), places.get(to)];
  if (!above || !below) return s("g");
  const start = [above.x + width(from) / 2, above.y + HEIGHT];
  const end = [below.x + width(to) / 2, below.y];
  const middle = (start[1] + end[1]) / 2;
  const way = `M${start[0]} ${start[1]}C${start[0]} ${middle} ${end[0]} ${middle} ${end[0]} ${end[1]}`;
  return s("path", { d: way, fill: "none", stroke: COLOURS.line, "stroke-width": 1.3, class: "edge" });
}

/** Return for each depth the nodes whose longest way from the root has that length. @param {Graph["nodes"]} nodes */
function layersOf(nodes) {
  const depths = nodes.map(() => 0);
  // Proofs have no cycles: after as many rounds as there are nodes nothing moves.
  for (let round = 0, moved = true; moved && round < nodes.length; round += 1) {
    moved = false;
    nodes.forEach((node, number) => {
      for (const premise of node.premises) {
        if (depths[premise] > depths[number]) continue;
        depths[premise] = depths[number] + 1;
        moved = true;
      }
    });
  }
  /** @type {number[][]} */
  const layers = Array.from({ length: Math.max(...depths) + 1 }, () => []);
  for (const [number, depth] of depths.entries()) layers[depth].push(number);
  return layers;
}

/**
 * Put each layer in the order of what rests on it, so that few lines cross.
 * @param {Graph["nodes"]} nodes
 * @param {number[][]} layers
 */
function order(nodes, layers) {
  const place = new Map(layers.flatMap((layer) => layer.map((each, at) => [each, at])));
  for (const layer of layers.slice(1)) {
    const weight = new Map(
      layer.map((each) => {
        const above = nodes.flatMap((node, number) => (node.premises.includes(each) ? [place.get(number) ?? 0] : []));
        return [each, above.reduce((sum, at) => sum + at, 0) / Math.max(1, above.length)];
      }),
    );
    layer.sort((one, other) => (weight.get(one) ?? 0) - (weight.get(other) ?? 0));
    layer.forEach((each, at) => {
      place.set(each, at);
    });
  }
  return layers;
}

/**
 * Save the picture of a proof as a file.
 * @param {import("./calls.js").NodeName} name
 * @param {"svg" | "png"} form
 */
export async function savePicture(name, form) {
  try {
    const drawn = draw(await askGraph(name));
    const text = new XMLSerializer().serializeToString(drawn);
    const file = new Blob([text], { type: "image/svg+xml" });
    save(form === "svg" ? file : await pixels(file, drawn), `proof.${form}`);
  } catch (error) {
    showError(error);
  }
}

/**
 * @param {Blob} file
 * @param {SVGSVGElement} drawn
 * @returns {Promise<Blob>}
 */
async function pixels(file, drawn) {
  const address = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const scale = 2;
    const canvas = h("canvas", {
      width: Math.ceil(Number(drawn.getAttribute("width")) * scale),
      height: Math.ceil(Number(drawn.getAttribute("height")) * scale),
    });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const made = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!(made instanceof Blob)) throw new Error("the browser cannot draw a picture of this size");
    return made;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/**
 * @param {Blob} file
 * @param {string} name
 */
function save(file, name) {
  const address = URL.createObjectURL(file);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
