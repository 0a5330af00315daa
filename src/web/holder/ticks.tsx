// Marks of the last outcomes, the oldest first. What succeeded is tall, what did not is short, so no colour has to be seen.

/** Succeeded; is not over; did not. */
export type Tick = "done" | "wait" | "bad";

/** The label says the same in words. */
export function Ticks({ ticks, label }: { ticks: Tick[]; label: string }) {
  return (
    <span class="ticks" role="img" aria-label={label}>
      {ticks.map((tick) => (
        <i class={tick} />
      ))}
    </span>
  );
}
