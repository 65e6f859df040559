/** `aegis tree` and `aegis kill`: show the sessions with their subagents, and end a subagent. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { NeedsYou, SessionView } from "@aegis/contract/session.ts";
import type { PooledWork, SubagentView, Tree, TreeBudgetView } from "@aegis/contract/subagent.ts";
import { type Cell, columns, heading } from "../../format/columns.ts";
import { sessionLabel } from "../../format/session-names.ts";
import { stateText } from "../../format/session-table.ts";
import type { Style } from "../../format/style.ts";
import { dollars, plural } from "../../format/text.ts";
import { duration } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { subagentCommands } from "./spec.ts";

type Waiting = SubagentView & { needs_you: NeedsYou | null; node?: string };
type PooledAt = PooledWork & { node?: string };
/** The sessions below a session: its subagents, and the pooled agents that worked for it. */
type Below = { children: Node[]; pooled: Pooled[] };
type Node = Waiting & Below;
type Pooled = PooledAt & Below;
type Root = SessionView & Below;
type Members = { subagents: readonly Waiting[]; pooled: readonly PooledAt[] };

const mostSubagents = 1_000;

export const tree: Handler<typeof subagentCommands.tree> = async (cx, args) => {
  const { client } = await cx.daemon();
  const wanted =
    args.session === undefined ? null : await client.call("getSession", { path: { session: args.session } });
  const { sessions } = await client.call("listSessions", { query: { closed: "true" } });
  const { subagents } = await client.call("listSubagents", {
    query: { archived: String(args.all), limit: mostSubagents },
  });
  const { budget, trees } = await client.call("listTrees");
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const nodeOf = (id: SessionId) => given({ node: byId.get(id)?.node });
  const known = subagents.map((one) => ({
    ...one,
    needs_you: byId.get(one.session)?.needs_you ?? null,
    ...nodeOf(one.session),
  }));
  const members = {
    subagents: known,
    pooled: trees
      .flatMap((one) => one.pooled)
      .filter((one) => args.all || isThere(one))
      .map((one) => ({ ...one, ...nodeOf(one.session) })),
  };
  const roots = wanted === null ? rootsOf(sessions, members, args.all) : [withBelow(wanted.session, members)];
  const { style } = cx;
  const shown = trees.filter((one) => roots.some((root) => root.id === one.root));
  cx.show({ sessions: roots, budget, trees }, () => [
    ...(roots.length === 0 ? ["No open sessions."] : draw(roots, { style, now: Date.now(), width: cx.columns })),
    ...(shown.length === 0 ? [] : [""]),
    ...shown.map((one) => `${style.cyan(one.handle)}  ${budgetLine(one, budget)}`),
  ]);
};

/** Exits with 1 if the subagent had already ended. */
export const kill: Handler<typeof subagentCommands.kill> = async (cx, args) => {
  const answer = await cx.call("killSubagent", { path: { run_id: args.run } });
  const before = `${args.run} had already ended: ${answer.status}`;
  cx.show(answer, answer.killed === 0 ? before : `ended ${plural(answer.killed, "subagent")}`);
  return answer.killed === 0 ? exitCodes.failed : exitCodes.ok;
};

/** A tree's usage against its budget; omits what has no limit. */
function budgetLine(tree: Tree, budget: TreeBudgetView): string {
  const parts = [
    `${tree.live} of ${budget.agents} working`,
    `${tree.recent} of ${budget.spawns} open or started in 24 hours`,
    ...(budget.output_tokens === null ? [] : [`${tree.output_tokens} of ${budget.output_tokens} output tokens`]),
    ...(budget.usd === null ? [] : [`${dollars(tree.cost)} of ${dollars(budget.usd)}`]),
  ];
  if (budget.usd === null || tree.untold === 0) return parts.join(", ");
  return `${parts.join(", ")} and ${plural(tree.untold, "turn")} of unknown cost`;
}

const isThere = ({ state }: PooledWork) => state !== "closed";

/** Sessions without a parent: open ones, and those with a visible session below them. */
function rootsOf(sessions: readonly SessionView[], members: Members, all: boolean): Root[] {
  const shown = new Set(sessions.filter((one) => all || one.state !== "closed").map((one) => one.id));
  const below = new Set([
    ...members.subagents.map((one) => one.session),
    // A pooled agent whose holders are gone is listed as a root.
    ...members.pooled.filter((one) => shown.has(one.holder)).map((one) => one.session),
  ]);
  return sessions
    .filter((session) => session.parent === null && !below.has(session.id))
    .map((session) => withBelow(session, members))
    .filter((root) => all || root.state !== "closed" || root.children.length > 0);
}

/** `path` contains the sessions above. It prevents an endless recursion if pooled agents work for each other. */
function withBelow<T>(one: T & { id: string }, members: Members): T & Below {
  return { ...one, ...below(one.id, members, []) };
}

function below(id: string, members: Members, path: readonly string[]): Below {
  const above = [...path, id];
  return {
    children: members.subagents
      .filter((one) => one.parent === id)
      .map((one) => ({ ...one, ...below(one.session, members, above) })),
    pooled: members.pooled
      .filter((one) => one.holder === id && !above.includes(one.session))
      .map((one) => ({ ...one, ...below(one.session, members, above) })),
  };
}

function draw(roots: readonly Root[], options: { style: Style; now: number; width: number }): string[] {
  const { style, now, width } = options;
  const hasNodes = roots.some(({ node }) => node !== undefined);
  const titles = ["SESSION", "STATUS", "AGENT", ...(hasNodes ? ["NODE"] : []), "RUN", "TIME", "TASK"];
  const look: Look = { style, now, nodes: hasNodes };
  const header = heading(style, titles);
  const rows = roots.flatMap((root): Cell[][] => [
    [
      { text: sessionLabel(root), paint: style.cyan },
      { text: stateText(root), ...(root.needs_you === null ? {} : { paint: style.yellow }) },
      { text: root.agent },
      ...nodeCell(root, look),
      { text: "" },
      { text: duration((root.closed_at ?? now) - root.created_at) },
      { text: root.error ?? root.title },
    ],
    ...branches(root, look, ""),
  ]);
  return columns(header, rows, width);
}

type Look = { style: Style; now: number; nodes: boolean };

function nodeCell({ node = "-" }: { node?: string | undefined }, { nodes }: Look): Cell[] {
  return nodes ? [{ text: node }] : [];
}

function branches({ children, pooled }: Below, look: Look, indent: string): Cell[][] {
  const rows: [Cell[], Below][] = [
    ...children.map((node): [Cell[], Node] => [subagentRow(node, look), node]),
    ...pooled.map((one): [Cell[], Pooled] => [pooledRow(one, look), one]),
  ];
  return rows.flatMap(([[name, ...rest], node], index) => {
    const last = index === rows.length - 1;
    const row = [{ ...name, text: `${indent}${last ? "└─" : "├─"} ${name?.text ?? ""}` }, ...rest];
    return [row, ...branches(node, look, `${indent}${last ? "   " : "│  "}`)];
  });
}

function subagentRow(node: Node, look: Look): Cell[] {
  const { style, now } = look;
  return [
    { text: `${node.label} (${node.handle})` },
    { text: node.needs_you === null ? node.status : "needs you", paint: statusPaint(node, style) },
    { text: node.agent },
    ...nodeCell(node, look),
    { text: node.run_id, paint: style.dim },
    { text: duration((node.ended_at ?? now) - node.created_at) },
    { text: node.error ?? node.result ?? node.task, paint: style.dim },
  ];
}

/** The time between its first and its last task for this session. */
function pooledRow(one: Pooled, look: Look): Cell[] {
  const { handle, state, agent, tasks, first_at, last_at } = one;
  const { style } = look;
  return [
    { text: `${handle} (pooled)` },
    { text: state, paint: state === "busy" ? style.green : style.dim },
    { text: agent },
    ...nodeCell(one, look),
    { text: "" },
    { text: duration(last_at - first_at) },
    { text: plural(tasks, "task"), paint: style.dim },
  ];
}

function statusPaint({ status, needs_you }: Node, style: Style): (text: string) => string {
  if (needs_you !== null) return style.yellow;
  if (status === "running") return style.green;
  return status === "done" ? style.dim : style.yellow;
}
