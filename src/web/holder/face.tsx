// How a card looks: the face of its page, and the small one of lists.

import type { ComponentChildren } from "preact";
import { Icon, StatusTag, classes } from "../parts";
import { type AnyCard, cardStatus, isEnded, kindOf } from "./data/cards";

/** A small card, for lists. It only repeats what the words beside it say. */
export function Thumb({ card }: { card: AnyCard }) {
  return <span class={classes("face thumb", `face-${kindOf(card)}`, (isEnded(card) || card.status === "paused") && "off")} aria-hidden="true" />;
}

/** How a card stands. */
export function CardStatus({ card, tag }: { card: AnyCard; tag?: boolean }) {
  const { tone, word } = cardStatus(card);
  return (
    <StatusTag tone={tone} tag={tag}>
      {word}
    </StatusTag>
  );
}

export interface FaceProps {
  card: AnyCard;
  title: ComponentChildren;
  /** At the right of the title: why it cannot be used. */
  state?: ComponentChildren;
  children: ComponentChildren;
}

export function Face({ card, title, state, children }: FaceProps) {
  const off = isEnded(card) || card.status === "paused";
  return (
    <div class={classes("face", `face-${kindOf(card)}`, off && "off")}>
      <div class="face-top">
        <span class="face-title">{title}</span>
        {state && (
          <span class="face-state">
            <Icon name={card.status === "paused" ? "pause" : "off"} />
            {state}
          </span>
        )}
      </div>
      <div>{children}</div>
    </div>
  );
}
