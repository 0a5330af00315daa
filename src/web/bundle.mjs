// The options of esbuild that building, serving and checking share.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { icons } from "./icons.mjs";

export const HERE = path.dirname(fileURLToPath(import.meta.url));

/** The apps. Each is a folder with a `main.tsx`. One with a title becomes a page with the same name. */
export const APPS = [
  { name: "holder", title: "Purser" },
  { name: "desk", title: "Purser desk" },
  { name: "public" },
].filter((app) => existsSync(path.join(HERE, app.name, "main.tsx")));

/** The style of the pages that the program writes (`src/page.rs`). */
export const PLAIN_STYLE = "public/plain.css";

/** Scripts of pages that are no apps: they work without the script too. */
const SCRIPTS = { login: "public/login.ts", icon: "icon.svg" };

/** Fonts of the first screen, which the page asks for before the style is read. */
const PRELOADED_FONTS = ["sans"];

export function options({ hashed }) {
  return {
    absWorkingDir: HERE,
    entryPoints: { plain: PLAIN_STYLE, ...Object.fromEntries(APPS.map((app) => [app.name, `${app.name}/main.tsx`])), ...SCRIPTS },
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: hashed,
    sourcemap: hashed ? false : "inline",
    legalComments: "none",
    metafile: true,
    write: false,
    charset: "utf8",
    outdir: "built",
    publicPath: "/assets",
    entryNames: hashed ? "[name]-[hash]" : "[name]",
    chunkNames: hashed ? "[name]-[hash]" : "chunk-[name]-[hash]",
    assetNames: hashed ? "[name]-[hash]" : "[name]",
    loader: { ".woff2": "file", ".svg": "copy" },
    plugins: [icons],
    logLevel: "warning",
  };
}

/** The name of the built icon. */
export const iconOf = (metafile) => path.basename(Object.keys(metafile.outputs).find((name) => name.endsWith(".svg")));

/** What an app's first screen loads: its entry and its Home with everything that they import at once, its style and fonts. */
export function firstScreen(metafile, app) {
  const outputs = metafile.outputs;
  const entry = Object.keys(outputs).find((name) => outputs[name].entryPoint === `${app}/main.tsx`);
  const scripts = [];
  const visit = (name) => {
    if (scripts.includes(name)) return;
    scripts.push(name);
    for (const used of outputs[name].imports) if (used.kind === "import-statement") visit(used.path);
  };
  visit(entry);
  // A page that is loaded in steps would show late what everybody comes for.
  const home = Object.keys(outputs).find((name) => outputs[name].entryPoint === `${app}/home.tsx`);
  if (home) visit(home);
  const style = outputs[entry].cssBundle;
  const fonts = Object.keys(outputs).filter((name) =>
    PRELOADED_FONTS.some((font) => Object.keys(outputs[name].inputs).includes(`fonts/${font}.woff2`)),
  );
  const base = (name) => path.basename(name);
  return { entry: base(entry), scripts: scripts.map(base), style: style && base(style), fonts: fonts.map(base) };
}

/** The page of an app. It has no data and no inline script or style, so it is the same for everybody. */
export function page(app, first, icon) {
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="robots" content="noindex">',
    `<title>${app.title}</title>`,
    `<link rel="icon" href="/assets/${icon}" type="image/svg+xml">`,
    first.style && `<link rel="stylesheet" href="/assets/${first.style}">`,
    ...first.fonts.map(
      (font) => `<link rel="preload" href="/assets/${font}" as="font" type="font/woff2" crossorigin>`,
    ),
    ...first.scripts
      .filter((script) => script !== first.entry)
      .map((script) => `<link rel="modulepreload" href="/assets/${script}">`),
    `<script type="module" src="/assets/${first.entry}"></script>`,
    "</head>",
    "<body>",
    '<div id="app"></div>',
    "<noscript>This page needs JavaScript. Everything that it shows is also in the API.</noscript>",
    "</body>",
    "</html>",
    "",
  ];
  return lines.filter((line) => line !== undefined).join("\n");
}

const MARK =
  '<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><rect class="mark-cloth" width="24" height="24" rx="6"/><path class="mark-brass" d="M0 6.5h24v2.6H0zM0 14.9h24v2.6H0z"/><path class="mark-white" d="M0 10.4h24v3.2H0z"/></svg>';

/**
 * The pages of `public/*.html`, by name. They are whole without scripts. `{{public.css}}` and `{{login.js}}` become
 * the names of the built files, `{{mark}}` the service's mark.
 */
export function plainPages(metafile) {
  const outputs = Object.entries(metafile.outputs);
  const named = (wanted) => {
    const dot = wanted.lastIndexOf(".");
    const [name, ending] = [wanted.slice(0, dot), wanted.slice(dot)];
    const entry = SCRIPTS[name] ?? `${name}/main.tsx`;
    const found = outputs.find(([, output]) => Object.hasOwn(output.inputs, entry) && (output.entryPoint === entry || ending === ".svg"));
    if (!found) throw new Error(`There is no entry for ${wanted}.`);
    return path.basename(ending === ".css" ? found[1].cssBundle : found[0]);
  };
  const folder = path.join(HERE, "public");
  const pages = readdirSync(folder).filter((name) => name.endsWith(".html"));
  return new Map(
    pages.sort().map((name) => {
      const text = readFileSync(path.join(folder, name), "utf8");
      return [name, text.replaceAll(/\{\{([\w.-]+)\}\}/g, (_, wanted) => (wanted === "mark" ? MARK : named(wanted)))];
    }),
  );
}
