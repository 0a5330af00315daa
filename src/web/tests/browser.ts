// The little of a browser that the parts need when they are loaded. Imported first by the tests.

const target = { addEventListener() {}, removeEventListener() {} };
const stand = {
  document: { ...target, hidden: false, documentElement: { setAttribute() {}, removeAttribute() {} }, querySelector: () => null },
  location: { pathname: "/dashboard", search: "", protocol: "http:", host: "localhost", href: "http://localhost/dashboard", origin: "http://localhost" },
  addEventListener() {},
};
for (const [name, value] of Object.entries(stand)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });

// The clock of relative times must not keep the tests running.
const every = globalThis.setInterval;
globalThis.setInterval = ((run: () => void, ms: number) => {
  const timer = every(run, ms) as unknown as { unref(): void };
  timer.unref();
  return timer;
}) as unknown as typeof setInterval;

export {};
