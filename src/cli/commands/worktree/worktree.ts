/** `aegis worktree`. */
import { type Cell, columns, heading } from "../../format/columns.ts";
import type { Handler } from "../../program/command.ts";
import type { worktreeCommands } from "./spec.ts";

export const list: Handler<typeof worktreeCommands.list> = async (cx) => {
  const answer = await cx.call("listWorktrees");
  if (answer.worktrees.length === 0)
    return cx.show(answer, "No session has a worktree. Start one with: aegis spawn --worktree");
  const { style } = cx;
  const hasNodes = answer.worktrees.some(({ node }) => node !== undefined);
  const titles = ["SESSION", ...(hasNodes ? ["NODE"] : []), "STATE", "BRANCH", "PORT", "FOLDER"];
  const header = heading(style, titles);
  const rows = answer.worktrees.map((one): Cell[] => [
    { text: one.closed ? `${one.handle} (closed)` : one.handle, paint: style.cyan },
    ...(hasNodes ? [{ text: one.node ?? "-" }] : []),
    one.missing ? { text: "missing", paint: style.red } : { text: one.problem === null ? one.state : "failed" },
    { text: one.branch ?? "-" },
    { text: one.port === null ? "-" : String(one.port) },
    { text: one.dir ?? "-" },
  ]);
  cx.show(answer, () => {
    const problems = answer.worktrees.flatMap(({ handle, problem }) =>
      problem === null ? [] : [style.red(`${handle}: ${problem}`)],
    );
    return [...columns(header, rows, cx.columns), ...problems];
  });
};

export const remove: Handler<typeof worktreeCommands.remove> = async (cx, args) => {
  const answer = await cx.call("removeWorktree", { path: { session: args.session } });
  cx.show(answer, `removed ${answer.worktree.dir ?? "the worktree"}; its files are kept: aegis rescue list`);
};
