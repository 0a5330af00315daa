// Requests to the service. The session cookie is the credential, so no secret is ever in the page.

import { signal } from "@preact/signals";
import { parseExact, writeExact } from "./json";
import { confirmIt } from "./passkey";

export { Exact } from "./json";

/** True once the service said that there is no session any more. */
export const signedOut = signal(false);
/** Called when a request was answered 401. The app finds out whether its session is over. */
export const unauthorized = { run: (): void => {} };
/** The message to the owner of a frozen account. */
export const frozen = signal<string | null>(null);

/** What the service answered instead of what was asked for. */
export class ApiFailure extends Error {
  override name = "ApiFailure";

  constructor(
    /** Stable, for programs. */
    readonly code: string,
    override readonly message: string,
    /** How to go on. */
    readonly hint: string | undefined,
    /** The field that is wrong. */
    readonly param: string | undefined,
    /** 0 if there was no answer. */
    readonly status: number,
    readonly requestId: string | undefined = undefined,
    readonly frozenMessage: string | undefined = undefined,
  ) {
    super(message);
  }

  /** In one text for people, without the marks around names. */
  get said(): string {
    return (this.hint ? `${this.message} ${this.hint}` : this.message).replaceAll("`", "");
  }
}

/** The failure of any thrown value. */
export function failure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiFailure("page_error", message, undefined, undefined, 0);
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

function failureOf(status: number, body: unknown): ApiFailure {
  const outer = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  // Callable functions put the error in an object of its own.
  const inner = typeof outer.error === "object" && outer.error !== null ? (outer.error as Record<string, unknown>) : outer;
  const message = text(inner.error) ?? text(inner.message) ?? `The service answered ${status}.`;
  // Without a passkey there is nothing to ask for.
  if (inner.code === "confirmation_required" && inner.reason === "login_link") {
    return new ApiFailure("login_link_needed", "Without a passkey, this works for ten minutes after a link of your wallet is opened.", "Ask your agent for a new link, open it in this browser, and add a passkey: then you can do this at any time.", undefined, status);
  }
  const frozenMessage = text(outer.frozen_message) ?? text(inner.frozen_message);
  return new ApiFailure(
    text(inner.code) ?? "unknown_error",
    message,
    text(inner.hint),
    text(inner.param),
    status,
    text(inner.request_id) ?? text(inner.requestId),
    frozenMessage,
  );
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...init });
  } catch {
    throw new ApiFailure("no_answer", "The service does not answer.", "Try again in a moment.", undefined, 0);
  }
}

async function read<T>(answer: Response): Promise<T> {
  if (answer.status === 204) return undefined as T;
  let body: unknown;
  try {
    body = parseExact(await answer.text());
  } catch {
    body = undefined;
  }
  if (answer.ok) return body as T;
  const failed = failureOf(answer.status, body);
  if (failed.status === 401) unauthorized.run();
  if (failed.code === "account_frozen") frozen.value = failed.frozenMessage ?? failed.message;
  throw failed;
}

/** 128 random bits, for an `Idempotency-Key`. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export interface PostOptions {
  /** What the passkey's dialog says if the service wants a confirmation. */
  confirm?: { title: string; text: string };
  /** Repeats with the same key take effect once. A new one by default. */
  key?: string;
  method?: "POST" | "DELETE";
}

async function post<T = unknown>(path: string, body?: unknown, { confirm, key = newKey(), method = "POST" }: PostOptions = {}): Promise<T> {
  const init: RequestInit = {
    method,
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    body: writeExact(body ?? {}),
  };
  const again = async () => read<T>(await send(path, init));
  try {
    return await again();
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== "confirmation_required") throw error;
    const yes = await confirmIt(confirm?.title ?? "Confirm that it is you", confirm?.text ?? error.message);
    if (!yes) throw new ApiFailure("not_confirmed", "Nothing was changed, because it was not confirmed.", undefined, undefined, 0);
    return await again();
  }
}

export const api = {
  /** The answer to a GET. Throws an [`ApiFailure`]. */
  async get<T = unknown>(path: string): Promise<T> {
    return read<T>(await send(path, { headers: { Accept: "application/json" } }));
  },

  /** The answer to a POST with a JSON body, in which amounts are `new Exact("25.50")`. If the service wants a confirmation, asks for it and sends it again. */
  post,

  /** The result of a callable function: `{"data": …}` in, `{"result": …}` out. */
  async call<T = unknown>(name: string, data: unknown, options?: PostOptions): Promise<T> {
    const answer = await post<{ result: T }>(`/${name.replace(/^\//, "")}`, { data }, options);
    return answer.result;
  },
};

/** A path with a query. Undefined and empty values are left out. */
export function withQuery(path: string, query: Record<string, string | number | boolean | null | undefined>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}
