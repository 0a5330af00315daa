// Writes `built/`: the apps' files with the hash of their content in the name, the page of each app, the manifest, and
// the table from which the program embeds them. The same sources give the same bytes on every machine.
// Fails if a first screen is above the budget.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import esbuild from "esbuild";
import { gzipSync } from "fflate";
import { APPS, HERE, PLAIN_STYLE, firstScreen, iconOf, options, page, plainPages } from "./bundle.mjs";

const BUDGET_BYTES = 60 * 1024;
const TYPES = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
};
const COMPRESSED = [".js", ".css", ".svg"];

// Not Node's own: its output differs between processors.
const compress = (bytes) => Buffer.from(gzipSync(bytes, { level: 9, mtime: 0 }));

const result = await esbuild.build(options({ hashed: true }));
const files = new Map(result.outputFiles.map((file) => [path.basename(file.path), Buffer.from(file.contents)]));

const manifest = { apps: {}, files: {} };
let over = false;
for (const app of APPS) {
  const first = firstScreen(result.metafile, app.name);
  const sizes = [...first.scripts, first.style].filter(Boolean).map((name) => compress(files.get(name)).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  over ||= total > BUDGET_BYTES;
  console.log(`${app.name}: first screen ${(total / 1024).toFixed(1)} KiB of script and style, compressed (at most ${BUDGET_BYTES / 1024})`);
  manifest.apps[app.name] = first;
  if (app.title) files.set(`${app.name}.html`, Buffer.from(page(app, first, iconOf(result.metafile))));
}
for (const [name, text] of plainPages(result.metafile)) files.set(name, Buffer.from(text));
const plainStyle = Object.keys(result.metafile.outputs).find((name) => result.metafile.outputs[name].entryPoint === PLAIN_STYLE);
manifest.plain = { style: path.basename(plainStyle), icon: iconOf(result.metafile) };
for (const font of readdirSync(path.join(HERE, "fonts")).filter((name) => name.startsWith("LICENSE-"))) {
  files.set(font, readFileSync(path.join(HERE, "fonts", font)));
}
// The packages whose code is in the files.
const packages = ["@preact/signals", "@preact/signals-core", "lucide-static", "preact", "uplot"];
const licences = packages.map((name) => `${name}\n\n${readFileSync(path.join(HERE, "node_modules", name, "LICENSE"), "utf8").trim()}\n`);
files.set("LICENSE-packages.txt", Buffer.from(licences.join("\n\n")));
for (const [name, bytes] of [...files]) {
  if (COMPRESSED.includes(path.extname(name))) files.set(`${name}.gz`, compress(bytes));
}
const digest = (name) => createHash("sha256").update(files.get(name)).digest("hex").slice(0, 32);
const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
for (const [name] of sorted) if (!name.endsWith(".gz")) manifest.files[name] = digest(name);

const isPage = (name) => name.endsWith(".html");
const pages = sorted.filter(([name]) => isPage(name));
const assets = sorted.filter(([name]) => !isPage(name) && !name.endsWith(".gz"));
const constants = pages.map(
  ([name]) => `pub(super) static ${path.basename(name, ".html").replaceAll("-", "_").toUpperCase()}: Page = Page {
    html: include_str!("${name}"),
    digest: "${digest(name)}",
};
`,
);
const rows = assets.map(([name]) => {
  const gzip = files.has(`${name}.gz`) ? `Some(include_bytes!("${name}.gz"))` : "None";
  return `    File {
        name: "${name}",
        content_type: "${TYPES[path.extname(name)] ?? "text/plain; charset=utf-8"}",
        digest: "${digest(name)}",
        bytes: include_bytes!("${name}"),
        gzip: ${gzip},
    },
`;
});
const table = `//! The files of the web apps, written by \`npm run build\` in \`src/web\`.

use super::{File, Page};

${constants.join("\n")}
/// Sorted by name.
pub(super) static FILES: &[File] = &[
${rows.join("")}];
`;

const out = path.join(HERE, "built");
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
for (const [name, bytes] of sorted) writeFileSync(path.join(out, name), bytes);
writeFileSync(path.join(out, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
writeFileSync(path.join(out, "files.rs"), table);
if (over) {
  console.error("A first screen is above its budget.");
  process.exit(1);
}
