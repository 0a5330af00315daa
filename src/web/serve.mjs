// `npm run serve -- --to http://127.0.0.1:8402 [--port 5173]`: serves the apps from source, built anew for each page
// load, and passes everything else on to a running service. So a page can be developed without building the service.
// The service allows requests of its own pages only, so it must believe that this is its address:
// `PURSER_SERVER__PUBLIC_URL=http://localhost:5173 purser serve`. For the desk, `--to` is the operator address.

import { readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";
import esbuild from "esbuild";
import { APPS, HERE, firstScreen, iconOf, options, page } from "./bundle.mjs";

const { values } = parseArgs({ options: { to: { type: "string" }, port: { type: "string", default: "5173" } } });
if (!values.to) {
  console.error("--to is the address of a running service, such as http://127.0.0.1:8402");
  process.exit(2);
}
const target = new URL(values.to);
const APP_OF = [
  [/^\/dashboard(\/|$)/, "holder"],
  [/^\/desk(\/|$)/, "desk"],
];
const TYPES = { ".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2", ".svg": "image/svg+xml" };
// The policy that the service sends, so that what it forbids is seen here already.
const served = readFileSync(path.join(HERE, "../http/web_apps.rs"), "utf8");
const policy = served.match(/const POLICY: &str = "([^"]*)";/)[1].replaceAll(/\\\n\s*/g, "");
const context = await esbuild.context(options({ hashed: false }));
let files = new Map();
let metafile;

async function rebuild() {
  const result = await context.rebuild();
  metafile = result.metafile;
  files = new Map(result.outputFiles.map((file) => [path.basename(file.path), file.contents]));
}
await rebuild();

// The operators' part believes that its address is the one that is asked for, so sign-in and passkeys work from here.
const passedOn = ({ url, headers }) => (/^\/(desk|admin)\b/.test(url) ? headers : { ...headers, host: target.host });

const server = http.createServer(async (request, answer) => {
  const { pathname } = new URL(request.url, "http://localhost");
  // Routes of the operators' API are below /desk too: a page is what a browser goes to.
  const isPage = request.method === "GET" && /\btext\/html\b/.test(request.headers.accept ?? "");
  const found = isPage && APP_OF.find(([pattern]) => pattern.test(pathname));
  if (found && APPS.some((app) => app.name === found[1])) {
    try {
      await rebuild();
    } catch (error) {
      answer.writeHead(500, { "content-type": "text/plain" }).end(String(error.message));
      return;
    }
    const app = APPS.find((app) => app.name === found[1]);
    answer.writeHead(200, { "content-type": "text/html", "cache-control": "no-store", "content-security-policy": policy });
    answer.end(page(app, firstScreen(metafile, app.name), iconOf(metafile)));
    return;
  }
  const name = pathname.startsWith("/assets/") ? path.basename(pathname) : "";
  // The service's own pages name the files of its build. They get those of the same entry.
  const bytes = files.get(name) ?? files.get(name.replace(/-[0-9A-Z]{8}(?=\.)/, ""));
  if (bytes) {
    answer.writeHead(200, { "content-type": TYPES[path.extname(pathname)], "cache-control": "no-store" }).end(bytes);
    return;
  }
  const onward = http.request(
    { host: target.hostname, port: target.port, path: request.url, method: request.method, headers: passedOn(request) },
    (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      // If the service ends meanwhile, its pages have to see that.
      reply.on("close", () => reply.complete || answer.destroy());
      reply.pipe(answer);
    },
  );
  onward.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end("The service does not answer.")));
  // A stream goes on until its page is closed.
  answer.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.on("upgrade", (request, socket, head) => {
  const onward = net.connect(Number(target.port), target.hostname, () => {
    const lines = Object.entries(passedOn(request)).map(([name, value]) => `${name}: ${value}`);
    onward.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    onward.write(head);
    socket.pipe(onward).pipe(socket);
  });
  onward.on("error", () => socket.destroy());
  socket.on("error", () => onward.destroy());
});

server.listen(Number(values.port), "127.0.0.1", () => console.log(`http://localhost:${server.address().port}/dashboard`));
