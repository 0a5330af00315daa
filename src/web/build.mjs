// Writes `built/`: the apps' files with the hash of their content in the name, the page of each app, the manifest, and
// the table from which the program embeds them. The same sources give the same bytes on every machine.
// Fails if a first screen is above the budget.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import esbuild from "esbuild";
import { APPS, HERE, firstScreen, options, page } from "./bundle.mjs";

const BUDGET_BYTES = 60 * 1024;
const TYPES = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
  ".html": "text/html; charset=utf-8",
};

const result = await esbuild.build(options({ hashed: true }));
const files = new Map(result.outputFiles.map((file) => [path.basename(file.path), Buffer.from(file.contents)]));

const manifest = { apps: {}, files: {} };
let over = false;
for (const app of APPS) {
  const first = firstScreen(result.metafile, app.name);
  const sizes = [...first.scripts, first.style].filter(Boolean).map((name) => gzipSync(files.get(name), { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  over ||= total > BUDGET_BYTES;
  console.log(`${app.name}: first screen ${(total / 1024).toFixed(1)} KiB of script and style, compressed (at most ${BUDGET_BYTES / 1024})`);
  manifest.apps[app.name] = first;
  files.set(`${app.name}.html`, Buffer.from(page(app, first)));
}
for (const font of readdirSync(path.join(HERE, "fonts")).filter((name) => name.startsWith("LICENSE-"))) {
  files.set(font, readFileSync(path.join(HERE, "fonts", font)));
}
const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
for (const [name, bytes] of sorted) {
  manifest.files[name] = createHash("sha256").update(bytes).digest("hex");
}

const rows = sorted.map(
  ([name]) => `    File {
        name: "${name}",
        content_type: "${TYPES[path.extname(name)] ?? "text/plain; charset=utf-8"}",
        digest: "${manifest.files[name].slice(0, 32)}",
        bytes: include_bytes!("${name}"),
    },`,
);
const table = `//! The files of the web apps, written by \`npm run build\` in \`src/web\`.

use super::File;

pub(super) static FILES: &[File] = &[
${rows.join("\n")}
];
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
