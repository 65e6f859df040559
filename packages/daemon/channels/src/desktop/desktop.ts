/**
 * Desktop notifications: asks, failures, and the end of long turns. They are for a person who sits at this machine now,
 * so nothing about them is stored. Asks that still wait for a person are shown again when the daemon starts.
 */
import { platform } from "node:process";
import type { Ask } from "@aegis/contract/ask.ts";
import type { ChannelView } from "@aegis/contract/channel.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { AskId } from "@aegis/contract/ids.ts";
import { childEnv, type Environment } from "@aegis/lib/child-env.ts";
import { findProgram } from "@aegis/lib/find-program.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { aborted } from "@aegis/lib/until-aborted.ts";
import { ChannelHealth } from "../health.ts";
import { type ChannelBase, type RunningChannel, Tasks } from "../running.ts";
import { askSummary, type EventSummary, summaryOf } from "../summary.ts";

export type DesktopOptions = ChannelBase & { processes: Processes; env: Environment; os?: string };

const name = "desktop";
/** A shorter turn needs no notification: the person is probably looking at it. */
const longTurnMs = 20_000;
const betweenMs = 5_000;
const longestText = 200;
const deadlineMs = 5_000;
const mostWaiting = 1_000;

export function startDesktop(options: DesktopOptions): RunningChannel {
  const { store, clock, log } = options;
  const health = new ChannelHealth({ clock, log, channel: name });
  const tasks = new Tasks();
  let lastAt = Number.NEGATIVE_INFINITY;
  let held: EventSummary[] = [];

  const notify = async (title: string, text: string) => {
    try {
      await show(options, title, text);
      health.ok("shows notifications");
    } catch (error) {
      health.set("off", errorText(error), "install notify-send, or set notify.desktop to false");
      throw error;
    }
  };
  /** At most one notification in five seconds; the others are counted in the next one. */
  const flush = async (signal: AbortSignal): Promise<void> => {
    const wait = lastAt + betweenMs - clock.now();
    if (wait > 0) await clock.sleep(wait, signal);
    const [first, ...others] = held;
    held = [];
    if (first === undefined) return;
    lastAt = clock.now();
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    await notify(`${first.title}${more}`, first.text);
  };
  const add = async (summary: EventSummary, signal: AbortSignal) => {
    held.push(summary);
    if (held.length === 1) await flush(signal);
  };
  /** Open asks that were shown in this life of the daemon. */
  const shown = new Set<AskId>();
  const showAsk = async (ask: Ask, signal: AbortSignal) => {
    if (shown.has(ask.id)) return;
    shown.add(ask.id);
    await add(await askSummary(store.read, ask), signal);
  };
  const take = async (events: readonly Event[], signal: AbortSignal) => {
    for (const event of events) {
      if (event.type === "ask.opened") await showAsk(event.data.ask, signal);
      else if (event.type === "ask.settled") shown.delete(event.data.ask);
      else if (event.type === "turn.ended" && (await isWorthIt(options, event)))
        await add(await summaryOf(store.read, event), signal);
    }
  };
  /** The last daemon may have died before it showed them, or long ago. */
  const takeWaiting = async (signal: AbortSignal) => {
    const asks = await store.read.asks.list({ status: "open", limit: mostWaiting });
    await Promise.all(asks.map((ask) => showAsk(ask, signal)));
  };
  tasks.add(async (signal) => {
    let tail = Promise.resolve();
    const follow = (taken: Promise<void>) => {
      tail = Promise.allSettled([tail, taken]).then(() => {});
    };
    const stop = store.onCommit((events) => follow(take(events, signal)), ["ask.opened", "ask.settled", "turn.ended"]);
    follow(takeWaiting(signal));
    await aborted(signal);
    stop();
    await tail;
  });
  void programOf(options).then(
    () => health.ok("shows notifications"),
    (error: unknown) => health.set("off", errorText(error), "install notify-send, or set notify.desktop to false"),
  );
  return {
    name,
    async view(): Promise<ChannelView> {
      return { name, kind: "desktop", ...health.view(), waiting: 0, failed: 0, peers: [] };
    },
    async test() {
      await notify("Aegis", "A test message.");
      return "a notification was shown";
    },
    pair: async () => {
      throw new AegisError("invalid", "desktop has no people to pair with");
    },
    unpair: async () => false,
    stop: (deadline) => tasks.stop(deadline),
  };
}

/** Failures always count, other ends only after a long turn. */
async function isWorthIt({ store }: DesktopOptions, { data, at }: EventOf<"turn.ended">): Promise<boolean> {
  if (data.reason === "failed" || data.reason === "refused") return true;
  if (data.reason === "cancelled" || data.reason === "lost") return false;
  const turn = await store.read.turns.get(data.turn);
  return turn !== null && at - turn.started_at >= longTurnMs;
}

type Command = (title: string, text: string) => readonly [string, ...string[]];

/** The program of the desktop and its arguments. Texts are arguments of their own, never part of a script. */
async function programOf({ env, os = platform }: DesktopOptions): Promise<Command> {
  const command = os === "darwin" ? "osascript" : os === "linux" ? "notify-send" : null;
  if (command === null) throw new AegisError("unavailable", `Aegis cannot show notifications on ${os}`);
  const path = await findProgram(command, env.PATH ?? "");
  if (path === null) throw new AegisError("unavailable", `${command} is not on the PATH of the daemon`);
  if (command === "notify-send")
    // The body is markup.
    return (title, text) => [path, "--app-name=Aegis", "--", title, escapeMarkup(text)];
  const script = ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];
  return (title, text) => [path, ...script.flatMap((line) => ["-e", line]), title, text];
}

async function show(options: DesktopOptions, title: string, text: string): Promise<void> {
  const { processes, env } = options;
  const argv = (await programOf(options))(plain(title), plain(text));
  const own = childEnv(env, ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"]);
  const child = await processes.start({ argv, env: own, cwd: "/" }, ownConsent("notify"));
  child.stdin.end();
  const late = setTimeout(() => void child.stop({ graceMs: 500 }), deadlineMs);
  for await (const _ of child.stdout);
  const { code } = await child.exited;
  clearTimeout(late);
  if (code !== 0) throw new AegisError("unavailable", `${argv[0]} failed: ${plain(child.stderrTail())}`);
}

/** One short line without control characters. An agent may have written it. */
function plain(text: string): string {
  const line = text.replace(/[\p{C}\s]+/gu, " ").trim();
  return line.length <= longestText ? line : `${line.slice(0, longestText).toWellFormed()}…`;
}

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
