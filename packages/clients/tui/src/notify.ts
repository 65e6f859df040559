/** Notifies a person who is looking elsewhere that an agent is waiting: a bell, and the terminal's own notification. */
import { plainLine } from "@aegis/lib/plain-text.ts";

export type NotifySetting = "off" | "bell" | "all";
type Environment = Readonly<Record<string, string | undefined>>;

const atMostEveryMs = 5_000;
const longest = 200;

/** Returns a function to call for each new ask. It writes only while the terminal is in the background. */
export function createNotifier(options: {
  setting: NotifySetting;
  env: Environment;
  write(text: string): void;
  now(): number;
  isFocused(): boolean;
}): (text: string) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (text) => {
    if (options.setting === "off" || options.isFocused()) return;
    const now = options.now();
    if (now - last < atMostEveryMs) return;
    last = now;
    options.write(`\u0007${options.setting === "all" ? notification(text, options.env) : ""}`);
  };
}

function notification(text: string, env: Environment): string {
  const body = plainLine(text).slice(0, longest).replaceAll(";", ",");
  const sequence = sequenceFor(body, env);
  if (sequence === "" || env.TMUX === undefined) return sequence;
  return `\u001bPtmux;${sequence.replaceAll("\u001b", "\u001b\u001b")}\u001b\\`;
}

/** Only for terminals that are known to understand it; others would show it as text. */
function sequenceFor(body: string, env: Environment): string {
  const program = `${env.TERM_PROGRAM ?? ""} ${env.TERM ?? ""}`.toLowerCase();
  if (/iterm|ghostty|wezterm|kitty|warp/.test(program) || env.KITTY_WINDOW_ID !== undefined)
    return `\u001b]9;${body}\u0007`;
  return /rxvt|foot/.test(program) ? `\u001b]777;notify;Aegis;${body}\u0007` : "";
}
