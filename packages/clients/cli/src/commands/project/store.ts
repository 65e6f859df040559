/**
 * `aegis store`: restores the content of a lost database, acknowledges the loss, or moves the data to another store. Needs
 * no daemon.
 */
import type { Status } from "@aegis/contract/api.ts";
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { oneLine, plural } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { CliError } from "../../program/failure.ts";
import { askYesNo } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { stateCommands } from "./state-spec.ts";

type Salvage = typeof import("@aegis/project/salvage/salvage.ts")["salvage"];
type SalvageReport = NonNullable<Awaited<ReturnType<Salvage>>>;
type SalvagePlan = Omit<SalvageReport, "salvaged">;

export const storeSalvage: Handler<typeof stateCommands.storeSalvage> = async (cx, args) => {
  const place = await ownPlace(cx);
  if (place === null) return;
  const { salvage } = await import("@aegis/project/salvage/salvage.ts");
  let asked = false;
  const agree = async (plan: SalvagePlan): Promise<boolean> => {
    if (plan.sessions.length === 0 || args.yes) return true;
    asked = true;
    cx.tell(planLines(plan));
    if (!cx.interactive)
      throw new CliError(exitCodes.failed, "nothing was restored: consent needs a terminal", {
        hint: "agree with --yes; the sessions are restored as closed, and nothing is sent or resumed",
      });
    return (await askYesNo(cx, "Restore these sessions as closed, for reading?", false)) === true;
  };
  const report = await salvage(place, { from: args.from, agree });
  if (report === null) throw new CliError(exitCodes.failed, "nothing was restored");
  cx.show({ ok: true, project: place.root, ...report }, () => reportLines(cx, report, asked));
};

export const storeForget: Handler<typeof stateCommands.storeForget> = async (cx) => {
  const place = await ownPlace(cx);
  if (place === null) return;
  const { forget } = await import("@aegis/project/salvage/salvage.ts");
  const losses = await forget(place);
  cx.show(
    { ok: true, project: place.root, forgotten: losses },
    losses.length === 0 ? "No loss was reported." : "The loss is no longer reported. No file was deleted.",
  );
};

/** Lines for stderr that report lost sessions and how to restore them. An older daemon does not report losses. */
export function lossLines(losses: Status["store"]["losses"] | undefined): string[] {
  if (losses === undefined || losses.length === 0) return [];
  const lines = losses.map(({ at, kind, reason, set_aside }) => {
    const when = new Date(at).toISOString().slice(0, 16).replace("T", " ");
    const why = reason === null ? "" : ` (${oneLine(reason)})`;
    if (kind === "behind")
      return `The database of this project lacks its newest events${why}; this was detected ${when} UTC. Its write-ahead log was removed, or an older copy replaced it.`;
    const where = set_aside === null ? "" : `, and is kept as .aegis/state/${oneLine(set_aside)}`;
    return `The database of this project was ${kind}${why}; this was detected ${when} UTC${where}. A new, empty one replaced it.`;
  });
  return [...lines, "Restore the sessions from their transcripts: aegis down, then aegis store salvage"];
}

async function ownPlace(cx: Terminal) {
  const { stateOwner, statePlace } = await import("@aegis/project/state/decide.ts");
  const place = await statePlace(findProjectRoot(cx.cwd), cx.env);
  const owner = await stateOwner(place);
  if (owner.owner === "unknown") {
    const { UnknownStateError } = await import("@aegis/project/state/judge.ts");
    throw new UnknownStateError(place.root, owner);
  }
  if (owner.owner === "you") return place;
  cx.show({ ok: true, project: place.root, salvaged: 0, sessions: [] }, `There is no state in ${place.root}.`);
  return null;
}

function reportLines({ style }: Terminal, report: SalvageReport, wasShown: boolean): string[] {
  if (report.sessions.length === 0 && report.left.length === 0)
    return ["There is nothing to restore: every session with a transcript is in the database."];
  return [
    ...(wasShown ? [] : planLines(report)),
    `Restored ${plural(report.salvaged, "session")}, closed. Read one with: aegis history <session id>`,
    ...report.left.map(({ what, reason }) => style.yellow(`Not restored: ${oneLine(what)}: ${oneLine(reason)}`)),
  ];
}

function planLines({ sessions }: SalvagePlan): string[] {
  return sessions.map(({ id, handle, agent, title, events, unreadable, unanswered }) => {
    const more = [
      plural(events, "event"),
      ...(unanswered === 0 ? [] : [`${plural(unanswered, "message")} without an answer`]),
      ...(unreadable === 0 ? [] : [`${plural(unreadable, "line")} not readable`]),
    ];
    return `  ${id}  ${oneLine(handle)}  ${oneLine(agent)}  ${oneLine(title)}  (${more.join(", ")})`;
  });
}

export const storeCopy: Handler<typeof stateCommands.storeCopy> = async (cx, args) => {
  const { to } = args;
  if (to === undefined)
    throw new CliError(exitCodes.usage, "store copy: expected --to postgres or --to sqlite", {
      hint: "see aegis store copy --help",
    });
  const { statePlace } = await import("@aegis/project/state/decide.ts");
  const { copyStore } = await import("@aegis/project/copy-store.ts");
  const { harnessNames } = await import("@aegis/project/checkup.ts");
  const root = findProjectRoot(cx.cwd);
  let shown = "";
  const report = await copyStore(await statePlace(root, cx.env), {
    to,
    env: cx.env,
    harnesses: harnessNames(root, cx.env),
    onProgress: ({ table, copied, total }) => {
      // One line for each table; a large one says how far it is.
      const part = total > 5_000 ? ` ${Math.floor((copied / total) * 10) * 10} %` : "";
      const line = `copying ${table}${part}`;
      if (line !== shown && cx.interactive) cx.warn(line);
      shown = line;
    },
  });
  const rows = Object.values(report.copied ?? {}).reduce((sum, count) => sum + count, 0);
  const next =
    report.to === "postgres" ? "Start it with: aegis up" : "Remove the cluster section, then start it with: aegis up";
  cx.show({ ok: true, project: root, ...report }, [
    report.copied === null
      ? `The data is already in ${report.where}.`
      : `Copied ${plural(rows, "row")} of ${plural(Object.keys(report.copied).length, "table")} to ${report.where}.`,
    ...(report.set_aside === null ? [] : [`The original is kept as ${report.set_aside}.`]),
    next,
  ]);
};
