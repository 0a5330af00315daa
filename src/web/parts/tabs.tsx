// Choices in a row: segments that change a value, and links between the parts of a page.

import type { ComponentChildren } from "preact";

export interface SegmentsProps<Value extends string | number> {
  label: string;
  options: { value: Value; text: ComponentChildren }[];
  value: Value;
  onChange: (value: Value) => void;
}

/** One of a few, at once. */
export function Segments<Value extends string | number>({ label, options, value, onChange }: SegmentsProps<Value>) {
  return (
    <div class="segments-box">
      <div class="segments" role="group" aria-label={label}>
        {options.map((option) => (
          <button type="button" key={option.value} aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
            {option.text}
          </button>
        ))}
      </div>
    </div>
  );
}

export interface TabsProps {
  label: string;
  links: { href: string; text: ComponentChildren; current: boolean; count?: number }[];
}

/** Links between the parts of one page. Each part has an address of its own. */
export function Tabs({ label, links }: TabsProps) {
  return (
    <nav class="segments-box" aria-label={label}>
      <span class="segments">
        {links.map((link) => (
          <a key={link.href} href={link.href} aria-current={link.current ? "page" : undefined}>
            {link.text}
            {link.count !== undefined && <span class="count">{link.count}</span>}
          </a>
        ))}
      </span>
    </nav>
  );
}
