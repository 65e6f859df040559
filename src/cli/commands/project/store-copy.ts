/** `aegis store copy`: moves the data of a stopped project to PostgreSQL or back. */
import { findProjectRoot } from "../../../lib/daemon-file.ts";
import { plural } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { CliError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { stateCommands } from "./state-spec.ts";

export const storeCopy: Handler<typeof stateCommands.storeCopy> = async (cx, args) => {
  const { to } = args;
  if (to === undefined)
    throw new CliError(exitCodes.usage, "store copy: expected --to postgres or --to sqlite", {
      hint: "see aegis store copy --help",
    });
  const { statePlace } = await import("../../../project/state/decide.ts");
  const { copyStore } = await import("../../../project/copy-store.ts");
  const { harnessNames } = await import("../../../project/checkup.ts");
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
