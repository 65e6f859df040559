/** `aegis nodes` and `aegis node …`: the nodes of a cluster. */
import type { NodeView } from "@aegis/contract/node.ts";
import { table } from "../../format/columns.ts";
import type { Style } from "../../format/style.ts";
import { plural } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import type { nodeCommands } from "./spec.ts";

export const nodes: Handler<typeof nodeCommands.nodes> = async (cx) => {
  const answer = await cx.call("listNodes");
  if (answer.nodes.length === 0) return cx.show(answer, "This project has no cluster: its database is embedded.");
  const { style } = cx;
  cx.show(answer, () =>
    table(cx, ["NODE", "STATE", "SESSIONS", "VERSION", "LABELS", "JOINED", "SETTINGS"], answer.nodes, (one) => [
      { text: one.here ? `${one.name} *` : one.name, paint: style.cyan },
      { text: one.state, paint: statePaint(one, style) },
      one.max_sessions === null ? String(one.sessions) : `${one.sessions} of ${one.max_sessions}`,
      one.version,
      one.labels.length === 0 ? "-" : one.labels.join(", "),
      relativeTime(one.joined_at, Date.now()),
      { text: one.drifted ? "drifted" : "same", paint: one.drifted ? style.yellow : style.dim },
    ]),
  );
};

export const drain: Handler<typeof nodeCommands.drain> = async (cx, { node }) => {
  const answer = await cx.call("drainNode", { path: { node } });
  cx.show(answer, `${node} takes no new work; its idle sessions move to other nodes`);
};

export const resume: Handler<typeof nodeCommands.resume> = async (cx, { node }) => {
  const answer = await cx.call("resumeNode", { path: { node } });
  cx.show(answer, `${node} takes work again`);
};

export const forget: Handler<typeof nodeCommands.forget> = async (cx, { node }) => {
  const answer = await cx.call("forgetNode", { path: { node } });
  cx.show(answer, `${node} was forgotten; ${plural(answer.moved, "session")} moved to this node`);
};

function statePaint({ state }: NodeView, style: Style): (text: string) => string {
  if (state === "lost") return style.red;
  return state === "draining" ? style.yellow : style.green;
}
