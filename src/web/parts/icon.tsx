// The icons of both apps, by what they mean. Drawn by Lucide (`icons.json`), except the diamond of "not known".

// The build replaces the names of icons by their paths.
import paths from "./icons.json";

const NOT_KNOWN = "M12 2 22 12 12 22 2 12ZM9.9 9.6a2.2 2.2 0 1 1 3.1 2.3c-.7.3-1 .8-1 1.5M12 16.4v.01";

export type IconName = keyof typeof paths | "huh";

/** An icon beside a word; it is hidden from screen readers. */
export function Icon({ name, large, turning }: { name: IconName; large?: boolean; turning?: boolean }) {
  return (
    <svg class={`icon${large ? " large" : ""}${turning ? " turning" : ""}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={name === "huh" ? NOT_KNOWN : paths[name]} />
    </svg>
  );
}

/** The service's mark: the stripes of a purser's sleeve. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect class="mark-cloth" width="24" height="24" rx="6" />
      <path class="mark-brass" d="M0 6.5h24v2.6H0zM0 14.9h24v2.6H0z" />
      <path class="mark-white" d="M0 10.4h24v3.2H0z" />
    </svg>
  );
}

/** The first letter of a name, in one of four colours that the name chooses. */
export function Avatar({ name, large, icon }: { name: string; large?: boolean; icon?: IconName }) {
  const letter = [...name.trim()][0]?.toUpperCase() ?? "?";
  let sum = 0;
  for (const character of name) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return (
    <span class={`avatar${large ? " large" : ""}`} data-hue={icon ? undefined : String((sum % 4) + 1)} aria-hidden="true">
      {icon ? <Icon name={icon} /> : letter}
    </span>
  );
}
