// Attempts to deliver something, in words and as marks. Loaded with the pages that show them, not with the first screen.

/** What came of an attempt: the HTTP status of the answer, or why there was none. */
export interface Attempt {
  status: number | null;
  error: string | null;
}

export const isAccepted = ({ status }: Pick<Attempt, "status">): boolean => status !== null && status >= 200 && status < 300;

export const answerText = ({ status, error }: Attempt): string => (status !== null ? String(status) : (error ?? "no answer"));

/** Succeeded; is not over; did not. */
export type Tick = "done" | "wait" | "bad";

/**
 * Marks of the last outcomes, the oldest first. What succeeded is tall, what did not is short, so no colour has to be seen.
 * The label says the same in words; without one, words beside it do.
 */
export function Ticks({ ticks, label }: { ticks: Tick[]; label?: string }) {
  const read = label === undefined ? ({ "aria-hidden": "true" } as const) : ({ role: "img", "aria-label": label } as const);
  return (
    <span class="ticks" {...read}>
      {ticks.map((tick) => (
        <i class={tick} />
      ))}
    </span>
  );
}
