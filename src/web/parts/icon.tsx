// The icons of both apps, by what they mean. Drawn by Lucide, except the diamond of "not known".

import {
  ArrowRight, Bot, Calendar, Check, ChevronDown, ChevronLeft, ChevronRight, Circle, CircleAlert, CircleCheck, CircleDashed, CircleMinus,
  Clock, Copy, CreditCard, Download, Ellipsis, Eye, EyeOff, FileText, Fingerprint, Flag, FlaskConical, Funnel, Gift, Globe, Hand, House,
  Inbox, Info, Keyboard, KeyRound, Landmark, Link, LoaderCircle, Lock, LogOut, type LucideIcon, Moon, Network, OctagonX, Pause, Pencil, Play,
  Plus, Printer, ReceiptText, RotateCw, Route, Scale, ScrollText, Search, Send, Shield, SlidersHorizontal, Snowflake, SquareArrowOutUpRight,
  Sun, Trash2, TriangleAlert, Undo2, Users, Volume2, VolumeX, Wallet, Webhook, X, Zap, createLucideIcon,
} from "lucide-preact";

const NotKnown = createLucideIcon("not-known", [
  ["path", { d: "M12 2 22 12 12 22 2 12Z" }],
  ["path", { d: "M9.9 9.6a2.2 2.2 0 1 1 3.1 2.3c-.7.3-1 .8-1 1.5" }],
  ["path", { d: "M12 16.4v.01" }],
]);

const ICONS = {
  home: House, card: CreditCard, route: Route, agent: Bot, statement: ReceiptText, settings: SlidersHorizontal, search: Search, copy: Copy,
  check: Check, done: CircleCheck, wait: Flag, bad: OctagonX, huh: NotKnown, off: CircleMinus, move: LoaderCircle, info: Info, clock: Clock,
  alert: TriangleAlert, pause: Pause, play: Play, lock: Lock, eye: Eye, eyeOff: EyeOff, key: KeyRound, out: SquareArrowOutUpRight,
  right: ChevronRight, left: ChevronLeft, down: ChevronDown, more: Ellipsis, plus: Plus, close: X, save: Download, print: Printer,
  again: RotateCw, send: Send, bank: Landmark, gift: Gift, globe: Globe, wallet: Wallet, freeze: Snowflake, shield: Shield, people: Users,
  webhook: Webhook, audit: ScrollText, tree: Network, flask: FlaskConical, sun: Sun, moon: Moon, leave: LogOut, undo: Undo2, books: Scale,
  hand: Hand, bolt: Zap, passkey: Fingerprint, arrow: ArrowRight, link: Link, inbox: Inbox, keyboard: Keyboard, edit: Pencil, remove: Trash2,
  filter: Funnel, file: FileText, calendar: Calendar, notYet: CircleDashed, circle: Circle, warn: CircleAlert, sound: Volume2, silent: VolumeX,
} satisfies Record<string, LucideIcon>;

export type IconName = keyof typeof ICONS;

/** An icon beside a word; it is hidden from screen readers. */
export function Icon({ name, large, turning }: { name: IconName; large?: boolean; turning?: boolean }) {
  const Drawn = ICONS[name];
  return <Drawn class={`icon${large ? " large" : ""}${turning ? " turning" : ""}`} aria-hidden="true" size={large ? 20 : 16} strokeWidth={2} />;
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
