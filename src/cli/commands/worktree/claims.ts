/** `aegis claims`. */
import { type Cell, columns, heading } from "../../format/columns.ts";
import { duration } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import type { claimCommands } from "./spec.ts";

export const claims: Handler<typeof claimCommands.claims> = async (cx) => {
  const answer = await cx.call("listClaims");
  if (answer.claims.length === 0) return cx.show(answer, "No session has claimed a file.");
  const { style } = cx;
  const now = Date.now();
  const header = heading(style, ["SESSION", "FOR", "HELD", "WAITING", "FILE"]);
  const rows = answer.claims.map((one): Cell[] => [
    { text: one.handle, paint: style.cyan },
    { text: one.kind === "edit" ? "an edit" : "its turn" },
    { text: duration(Math.max(0, now - one.since)) },
    { text: one.waiting.length === 0 ? "-" : one.waiting.join(", ") },
    { text: one.path },
  ]);
  cx.show(answer, () => columns(header, rows, cx.columns));
};
