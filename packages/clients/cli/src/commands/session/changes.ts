/**
 * `aegis changes`: shows what the turns of a session changed, from git where available, otherwise from recorded edits.
 */
import type { ApiOutput } from "@aegis/contract/api.ts";
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { TurnId } from "@aegis/contract/ids.ts";
import { unifiedDiff } from "@aegis/lib/unified-diff.ts";
import type { Style } from "../../format/style.ts";
import { oneLine, plainText, plural } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { printPaged } from "../../terminal/pager.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { readHistory } from "./history.ts";
import type { sessionCommands } from "./spec.ts";

type TreeChanges = ApiOutput<"getChanges">["changes"];
type File = TreeChanges["files"][number];

const shellNote =
  "not a git project, so edits that shell commands made are not recorded: compare with a copy, or run git init";

export const changes: Handler<typeof sessionCommands.changes> = async (cx, args) => {
  if (args.stat && args.patch) throw usageError("--stat and --patch exclude each other");
  const { client } = await cx.daemon();
  const path = { session: args.session };
  const query = { ...(args.turn === undefined ? {} : { turn: args.turn }), patch: String(!args.stat) };
  const { changes: tree } = await client.call("getChanges", { path, query });
  const recorded = async () => changesIn((await readHistory(client, tree.session)).events);
  if (cx.json) {
    const { session, handle } = tree;
    return cx.printJson({ session, handle, changes: await recorded(), tree });
  }
  if (tree.git) return showTree(cx, tree);
  return showRecorded(cx, tree.handle, await recorded());
};

async function showTree(cx: Terminal, tree: TreeChanges): Promise<void> {
  const { style } = cx;
  const base = tree.base === null ? "" : `, from commit ${tree.base.slice(0, 12)}`;
  if (tree.files.length === 0) cx.print(`${tree.handle} changed no files.`);
  else {
    const count = plural(tree.files.length + tree.omitted, "file");
    const total = `${count}, +${tree.added} -${tree.deleted} in ${plural(tree.turns.length, "turn")}${base}`;
    const more = tree.omitted === 0 ? [] : [style.yellow(`and ${tree.omitted} more`)];
    const patch = (tree.patch ?? "").split("\n").map((line) => paint(plainText(line), style));
    await printPaged(cx, [
      ...tree.files.map((file) => fileLine(file, tree.handle, style)),
      ...more,
      style.dim(total),
      ...(tree.patch === null || tree.patch === "" ? [] : ["", ...patch]),
    ]);
  }
  for (const note of notesOf(tree)) cx.warn(style.yellow(note));
}

const letters: Readonly<Record<File["status"], string>> = {
  added: "A",
  modified: "M",
  deleted: "D",
  renamed: "R",
  type_changed: "T",
};

function fileLine(file: File, handle: string, style: Style): string {
  const name = file.from === null ? oneLine(file.path) : `${oneLine(file.from)} → ${oneLine(file.path)}`;
  const size = file.submodule ? "submodule" : file.binary ? "binary" : `+${file.added} -${file.deleted}`;
  const hasMode = file.status !== "added" && file.status !== "deleted" && file.old_mode !== file.new_mode;
  const mode = hasMode ? `  mode ${file.old_mode} → ${file.new_mode}` : "";
  const others = file.sessions.filter((one) => one !== handle);
  const shared = file.attribution === "shared" ? `  shared with ${others.join(", ")}` : "";
  const outside = file.outside ? "  also changed outside turns" : "";
  return `${letters[file.status]}  ${style.bold(name)}  ${style.dim(`${size}${mode}`)}${style.yellow(shared + outside)}`;
}

function notesOf(tree: TreeChanges): string[] {
  const list = (names: readonly string[]) => names.slice(0, 10).map(oneLine).join(", ");
  return [
    ...tree.problems,
    ...(tree.truncated.length === 0 ? [] : [`the patch is shortened or omitted for: ${list(tree.truncated)}`]),
    ...(tree.skipped.length === 0
      ? []
      : [`untracked files that are too large to record: ${list(tree.skipped.map(({ path }) => path))}`]),
    ...(tree.dirty_submodules.length === 0
      ? []
      : [`submodules with uncommitted changes, not shown here: ${list(tree.dirty_submodules)}`]),
    ...(tree.filters_off.length === 0
      ? []
      : [`filters of the repository's configuration were not run: ${list(tree.filters_off)}`]),
  ];
}

async function showRecorded(cx: Terminal, handle: string, found: readonly Change[]): Promise<void> {
  const { style } = cx;
  const shown = found.filter(({ status }) => status !== "failed");
  const failed = found.length - shown.length;
  if (shown.length === 0) cx.print(`No edits of ${handle} are recorded.`);
  else
    await printPaged(
      cx,
      shown.flatMap((change) => changeLines(change, style)),
    );
  if (failed > 0) cx.warn(style.dim(`${plural(failed, "edit")} failed and changed nothing; --json lists them too`));
  cx.warn(style.dim(shellNote));
}

function changeLines({ turn_number, tool, path, status, diff }: Change, style: Style): string[] {
  const doubt = status === "unconfirmed" ? style.yellow("  not confirmed: no result of the call is recorded") : "";
  const head = `${style.bold(oneLine(path))}  ${style.dim(`turn ${turn_number}, ${oneLine(tool)}`)}${doubt}`;
  if (diff === null) return [head, style.dim("  the harness reported the path only"), ""];
  const lines = unifiedDiff(diff.before, diff.after).map(plainText);
  return [
    head,
    ...(lines.length === 0 ? [style.dim("  the text is the same")] : lines.map((line) => paint(line, style))),
    "",
  ];
}

function paint(line: string, style: Style): string {
  if (line.startsWith("+")) return style.green(line);
  return line.startsWith("-") ? style.red(line) : line;
}

type Change = {
  /** The number of the turn in the session, from 1. */
  turn_number: number;
  turn: TurnId;
  at: number;
  tool: string;
  path: string;
  /** `unconfirmed`: no result of the call is recorded, so the edit may not have been made. */
  status: "made" | "failed" | "unconfirmed";
  /** The text before and after; null if the harness reported only the path. */
  diff: { before: string | null; after: string } | null;
};

/** The edits of the turns whose events these are. */
export function changesIn(events: readonly Event[]): Change[] {
  const turns = new Map<TurnId, number>();
  const results = new Map<string, EventOf<"turn.tool_result">>();
  for (const event of events) {
    if (event.type === "turn.started") turns.set(event.data.turn, turns.size + 1);
    if (event.type === "turn.tool_result") results.set(keyOf(event.data), event);
  }
  return events.flatMap((event) => {
    if (event.type !== "turn.tool_call") return [];
    const { turn, name, kind, locations } = event.data;
    const result = results.get(keyOf(event.data))?.data;
    const diff = result?.diff ?? event.data.diff;
    const paths = diff !== null ? [diff.path] : kind === "edit" ? locations.map(({ path }) => path) : [];
    return [...new Set(paths)].map((path): Change => {
      const status = result === undefined ? "unconfirmed" : result.is_error ? "failed" : "made";
      const texts = diff === null ? null : { before: diff.before, after: diff.after };
      return { turn_number: turns.get(turn) ?? 0, turn, at: event.at, tool: name, path, status, diff: texts };
    });
  });
}

function keyOf({ turn, call }: { turn: TurnId; call: string }): string {
  return `${turn}/${call}`;
}
