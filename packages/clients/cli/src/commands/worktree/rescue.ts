/** `aegis rescue`: work of removed worktrees. */
import { resolve } from "node:path";
import { table } from "../../format/columns.ts";
import { oneLine, plural } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { confirm } from "../../terminal/confirm.ts";
import type { rescueCommands } from "./spec.ts";

export const list: Handler<typeof rescueCommands.list> = async (cx) => {
  const answer = await cx.call("listRescues");
  if (answer.rescues.length === 0) return cx.show(answer, "There are no rescues.");
  const { style } = cx;
  cx.show(answer, () =>
    table(cx, ["SESSION", "WHEN", "CHANGED", "BRANCH", "ID"], answer.rescues, (one) => [
      { text: one.handle, paint: style.cyan },
      relativeTime(one.at, Date.now()),
      String(one.files),
      one.branch ?? "-",
      one.id,
    ]),
  );
};

export const show: Handler<typeof rescueCommands.show> = async (cx, args) => {
  const answer = await cx.call("getRescue", { path: { rescue: args.rescue } });
  const { handle, ref, reason, branch, head, files, changed } = answer.rescue;
  cx.show(answer, () => [
    `${handle}: ${plural(files, "file")}, ${reason}`,
    `branch ${branch ?? "(none)"} at ${head ?? "(no commit)"}`,
    `stored as ${ref}`,
    ...changed.map(oneLine),
  ]);
};

export const restore: Handler<typeof rescueCommands.restore> = async (cx, args) => {
  const body = args.to === undefined ? {} : { dir: resolve(args.to) };
  const answer = await cx.call("restoreRescue", { path: { rescue: args.rescue }, body });
  const where = answer.branch === null ? "with a detached HEAD" : `on ${answer.branch.replace(/^refs\/heads\//, "")}`;
  cx.show(answer, `restored to ${answer.dir}, ${where}`);
};

export const prune: Handler<typeof rescueCommands.prune> = async (cx, args) => {
  const { rescues } = await cx.call("listRescues");
  const older_than_ms = args.days * 24 * 60 * 60 * 1000;
  const old = rescues.filter(({ at }) => at < Date.now() - older_than_ms);
  if (old.length > 0 && !args.yes && !(await confirm(cx, `Drop ${plural(old.length, "rescue")} for good?`))) return 1;
  const answer = await cx.call("pruneRescues", { body: { older_than_ms } });
  cx.show(answer, `dropped ${plural(answer.dropped.length, "rescue")}`);
};
