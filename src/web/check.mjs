// `npm run check`, after the types: the generated types are those of the documents, and the tests of the parts pass.

import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import path from "node:path";
import esbuild from "esbuild";
import { HERE } from "./bundle.mjs";
import { icons } from "./icons.mjs";
import { texts } from "./types.mjs";

for (const [name, text] of Object.entries(texts())) {
  if (readFileSync(path.join(HERE, "api", name), "utf8") !== text) {
    console.error(`api/${name} is not what docs/ says. Run \`npm run types\`.`);
    process.exit(1);
  }
}

const out = mkdtempSync(path.join(HERE, "node_modules", ".tests-"));
const tests = readdirSync(path.join(HERE, "tests")).filter((name) => name.endsWith(".test.ts"));
await esbuild.build({
  absWorkingDir: HERE,
  entryPoints: tests.map((name) => `tests/${name}`),
  bundle: true,
  format: "esm",
  platform: "node",
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [icons],
  outdir: out,
  outExtension: { ".js": ".mjs" },
  logLevel: "warning",
});
const ran = spawnSync(process.execPath, ["--test", ...tests.map((name) => path.join(out, name.replace(/\.ts$/, ".mjs")))], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(ran.status ?? 1);
