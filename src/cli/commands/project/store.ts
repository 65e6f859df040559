/** `aegis store`: restores the content of a lost database, or acknowledges the loss. Needs no daemon. */
import type { Status } from "../../../contract/api.ts";
import { findProjectRoot } from "../../../lib/daemon-file.ts";
import { oneLine, plural } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { CliError } from "../../program/failure.ts";
import { askYesNo } from "../../terminal/ask-yes-no.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { stateCommands } from "./state-spec.ts";

type Salvage = typeof import("../../../project/salvage/salvage.ts")["salvage"];
type SalvageReport = NonNullable<Awaited<ReturnType<Salvage>>>;
type SalvagePlan = Omit<SalvageReport, "salvaged">;

export const storeSalvage: Handler<typeof stateCommands.storeSalvage> = async (cx, args) => {
  const place = await ownPlace(cx);
  if (place === null) return;
  const { salvage } = await import("../../../project/salvage/salvage.ts");
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
  const { forget } = await import("../../../project/salvage/salvage.ts");
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
    const where = set_aside === null ? "" : `, and is kept as .aegis/state/${oneLine(set_aside)}`;
    return `The database of this project was ${kind}${why}; this was detected ${when} UTC${where}. A new, empty one replaced it.`;
  });
  return [...lines, "Restore the sessions from their transcripts: aegis down, then aegis store salvage"];
}

async function ownPlace(cx: Terminal) {
  const { stateOwner, statePlace } = await import("../../../project/state/decide.ts");
  const place = await statePlace(findProjectRoot(cx.cwd), cx.env);
  const owner = await stateOwner(place);
  if (owner.owner === "unknown") {
    const { UnknownStateError } = await import("../../../project/state/judge.ts");
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
