/** `aegis worktree` and `aegis claims`: the git worktrees of sessions, and the files that they have claimed. */
import { table } from "../../format/columns.ts";
import { duration } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import type { claimCommands, worktreeCommands } from "./spec.ts";

export const list: Handler<typeof worktreeCommands.list> = async (cx) => {
  const answer = await cx.call("listWorktrees");
  if (answer.worktrees.length === 0)
    return cx.show(answer, "No session has a worktree. Start one with: aegis spawn --worktree");
  const { style } = cx;
  const hasNodes = answer.worktrees.some(({ node }) => node !== undefined);
  const titles = ["SESSION", ...(hasNodes ? ["NODE"] : []), "STATE", "BRANCH", "PORT", "FOLDER"];
  cx.show(answer, () => {
    const problems = answer.worktrees.flatMap(({ handle, problem }) =>
      problem === null ? [] : [style.red(`${handle}: ${problem}`)],
    );
    return [
      ...table(cx, titles, answer.worktrees, (one) => [
        { text: one.closed ? `${one.handle} (closed)` : one.handle, paint: style.cyan },
        ...(hasNodes ? [{ text: one.node ?? "-" }] : []),
        one.missing ? { text: "missing", paint: style.red } : { text: one.problem === null ? one.state : "failed" },
        one.branch ?? "-",
        one.port === null ? "-" : String(one.port),
        one.dir ?? "-",
      ]),
      ...problems,
    ];
  });
};

export const remove: Handler<typeof worktreeCommands.remove> = async (cx, args) => {
  const answer = await cx.call("removeWorktree", { path: { session: args.session } });
  cx.show(answer, `removed ${answer.worktree.dir ?? "the worktree"}; its files are kept: aegis rescue list`);
};

export const claims: Handler<typeof claimCommands.claims> = async (cx) => {
  const answer = await cx.call("listClaims");
  if (answer.claims.length === 0) return cx.show(answer, "No session has claimed a file.");
  const { style } = cx;
  const now = Date.now();
  cx.show(answer, () =>
    table(cx, ["SESSION", "FOR", "HELD", "WAITING", "FILE"], answer.claims, (one) => [
      { text: one.handle, paint: style.cyan },
      one.kind === "edit" ? "an edit" : "its turn",
      duration(Math.max(0, now - one.since)),
      one.waiting.length === 0 ? "-" : one.waiting.join(", "),
      one.path,
    ]),
  );
};
