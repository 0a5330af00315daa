// Icons of Lucide as one path each: what the parts name in `parts/icons.json` becomes the shape of that icon. A component
// for each icon, as the package has them, would be a seventh of the first screen.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const nodes = JSON.parse(readFileSync(createRequire(import.meta.url).resolve("lucide-static/icon-nodes.json"), "utf8"));

const ellipse = (cx, cy, rx, ry) => `M${cx - rx} ${cy}a${rx} ${ry} 0 1 0 ${2 * rx} 0a${rx} ${ry} 0 1 0 ${-2 * rx} 0`;

function rectangle({ x = 0, y = 0, width, height, rx = 0, ry = rx }) {
  if (rx === 0) return `M${x} ${y}h${width}v${height}h${-width}z`;
  const corner = (dx, dy) => `a${rx} ${ry} 0 0 1 ${dx} ${dy}`;
  return `M${x + rx} ${y}h${width - 2 * rx}${corner(rx, ry)}v${height - 2 * ry}${corner(-rx, ry)}h${2 * rx - width}${corner(-rx, -ry)}v${2 * ry - height}${corner(rx, -ry)}z`;
}

// Each path begins at a place of its own: one that begins relative to the start of the drawing does so from 0 0.
const absolute = (path) => path.replace(/^m\s*/, "M0 0m");

function shape([tag, given]) {
  const attributes = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Number.isNaN(Number(value)) ? value : Number(value)]));
  switch (tag) {
    case "path":
      return absolute(given.d);
    case "circle":
      return ellipse(attributes.cx, attributes.cy, attributes.r, attributes.r);
    case "ellipse":
      return ellipse(attributes.cx, attributes.cy, attributes.rx, attributes.ry);
    case "rect":
      return rectangle(attributes);
    case "line":
      return `M${attributes.x1} ${attributes.y1}L${attributes.x2} ${attributes.y2}`;
    case "polyline":
      return `M${given.points}`;
    case "polygon":
      return `M${given.points}z`;
    default:
      throw new Error(`An icon has a ${tag}, which is not known here.`);
  }
}

/** For esbuild: `icons.json` becomes the paths of its icons. */
export const icons = {
  name: "icons",
  setup(build) {
    build.onLoad({ filter: /[\\/]parts[\\/]icons\.json$/ }, ({ path }) => {
      const names = JSON.parse(readFileSync(path, "utf8"));
      const paths = Object.entries(names).map(([name, icon]) => {
        if (!nodes[icon]) throw new Error(`Lucide has no icon ${icon}.`);
        return [name, nodes[icon].map(shape).join("")];
      });
      return { contents: JSON.stringify(Object.fromEntries(paths)), loader: "json" };
    });
  },
};
