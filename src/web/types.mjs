// Writes `api/`: TypeScript types of the documents of the public API, the operators' API and the events.
// `npm run check` fails if they are not those of the documents (see check.mjs).

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { HERE } from "./bundle.mjs";

const read = (name) => JSON.parse(readFileSync(path.join(HERE, "../../docs", name), "utf8"));
const isName = (text) => /^[A-Za-z_$][\w$]*$/.test(text);
const key = (text) => (isName(text) ? text : JSON.stringify(text));

// A schema's name as a type's name: `card.ready` is `CardReady`.
const typeName = (text) => (isName(text) ? text : text.split(/[^A-Za-z0-9]+/).map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join(""));

function comment(text, indent) {
  if (!text) return "";
  const lines = text.replaceAll("*/", "* /").trim().split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

function type(schema, indent = "") {
  if (schema === undefined || schema === true) return "unknown";
  if (schema.$ref) return typeName(schema.$ref.split("/").at(-1));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map((one) => wrapped(type(one, indent))).join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => wrapped(type(one, indent))).join(" & ");
  if (Array.isArray(schema.type)) return schema.type.map((one) => wrapped(type({ ...schema, type: one }, indent))).join(" | ");
  switch (schema.type) {
    case "null":
      return "null";
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "integer":
    case "number":
      return "number";
    case "array":
      return `${wrapped(type(schema.items, indent))}[]`;
    default:
      return object(schema, indent);
  }
}

const wrapped = (text) => (/[|&]/.test(text) && !/^[{]/.test(text) ? `(${text})` : text);

function object(schema, indent) {
  const deeper = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => `${comment(field.description, deeper)}${deeper}${key(name)}${required.has(name) ? "" : "?"}: ${type(field, deeper)};\n`,
  );
  const more = schema.additionalProperties;
  if (more && more !== true) fields.push(`${deeper}[name: string]: ${type(more, deeper)};\n`);
  if (fields.length === 0) return "Record<string, unknown>";
  return `{\n${fields.join("")}${indent}}`;
}

function declarations(schemas) {
  return Object.keys(schemas)
    .sort()
    .map((name) => `${comment(schemas[name].description, "")}export type ${typeName(name)} = ${name === "ExactDecimal" ? "string | number" : type(schemas[name])};\n`)
    .join("\n");
}

const begin = (what, from) => `// ${what}, written by \`npm run types\` from docs/${from}. Don't edit.\n\n`;

/** The files of `api/` with their texts. */
export function texts() {
  const events = read("asyncapi.json");
  const names = Object.keys(events.components.messages)
    .filter((name) => name.startsWith("stream.") && name.slice(7).includes("."))
    .map((name) => name.slice(7))
    .sort();
  const list = `/** Every event type. */\nexport const EVENT_TYPES = [\n${names.map((name) => `  ${JSON.stringify(name)},\n`).join("")}] as const;\n\nexport type EventType = (typeof EVENT_TYPES)[number];\n\n`;
  return {
    "public.ts": begin("Types of the public API", "openapi.json") + declarations(read("openapi.json").components.schemas),
    "operator.ts": begin("Types of the operators' API", "admin.openapi.json") + declarations(read("admin.openapi.json").components.schemas),
    "events.ts": begin("Types of the events", "asyncapi.json") + list + declarations(events.components.schemas),
  };
}

if (process.argv[1] === path.join(HERE, "types.mjs")) {
  for (const [name, text] of Object.entries(texts())) writeFileSync(path.join(HERE, "api", name), text);
}
