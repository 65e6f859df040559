/** `aegis tree` and `aegis kill`: who started whom, and an end to it. */
import type { SessionView } from "../../contract/session.ts";
import type { SubagentView, Tree, TreeBudgetView } from "../../contract/subagent.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { type Cell, columns } from "../format/columns.ts";
import { createStyle, type Style } from "../format/style.ts";
import { dollars, plural } from "../format/text.ts";
import { duration } from "../format/time.ts";
import { sessionLabel } from "../session-names.ts";
import type { Terminal } from "../terminal.ts";

type Node = SubagentView & { children: Node[] };
type Root = SessionView & { children: Node[] };

const mostSubagents = 1_000;

export async function tree(cx: Terminal, args: { session: string | undefined; all: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const wanted =
    args.session === undefined ? null : await client.call("getSession", { path: { session: args.session } });
  const { sessions } = await client.call("listSessions", { query: { closed: "true" } });
  const { subagents } = await client.call("listSubagents", {
    query: { archived: String(args.all), limit: mostSubagents },
  });
  const { budget, trees } = await client.call("listTrees");
  const roots = wanted === null ? rootsOf(sessions, subagents, args.all) : [withChildren(wanted.session, subagents)];
  if (cx.json) {
    cx.printJson({ sessions: roots, budget, trees });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  if (roots.length === 0) cx.print("No open sessions.");
  else for (const line of draw(roots, { style, now: Date.now(), width: cx.columns })) cx.print(line);
  const shown = trees.filter((one) => roots.some((root) => root.id === one.root));
  if (shown.length > 0) cx.print("");
  for (const one of shown) cx.print(`${style.cyan(one.handle)}  ${budgetLine(one, budget)}`);
  return exitCodes.ok;
}

/** Exit code 1 when it had ended before. */
export async function kill(cx: Terminal, args: { run: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("killSubagent", { path: { run_id: args.run } });
  if (cx.json) cx.printJson(answer);
  else
    cx.print(
      answer.killed === 0
        ? `${args.run} had ended before: ${answer.status}`
        : `ended ${plural(answer.killed, "subagent")}`,
    );
  return answer.killed === 0 ? exitCodes.failed : exitCodes.ok;
}

/** What a tree has used of what it may use; what has no limit is left out. */
function budgetLine(tree: Tree, budget: TreeBudgetView): string {
  const parts = [
    `${tree.live} of ${budget.agents} at work`,
    `${tree.spawned} of ${budget.spawns} ever started`,
    ...(budget.output_tokens === null ? [] : [`${tree.output_tokens} of ${budget.output_tokens} output tokens`]),
    ...(budget.usd === null ? [] : [`${dollars(tree.cost)} of ${dollars(budget.usd)}`]),
  ];
  if (budget.usd === null || tree.untold === 0) return parts.join(", ");
  return `${parts.join(", ")} and what ${plural(tree.untold, "turn")} cost is not known`;
}

/** Sessions that are nobody's subagent: those that are open, and those with something below them that is shown. */
function rootsOf(sessions: readonly SessionView[], subagents: readonly SubagentView[], all: boolean): Root[] {
  const below = new Set(subagents.map((one) => one.session));
  return sessions
    .filter((session) => session.parent === null && !below.has(session.id))
    .map((session) => withChildren(session, subagents))
    .filter((root) => all || root.state !== "closed" || root.children.length > 0);
}

function withChildren<T extends SessionView>(session: T, subagents: readonly SubagentView[]): T & { children: Node[] } {
  return { ...session, children: nodesBelow(session.id, subagents) };
}

function nodesBelow(parent: string, subagents: readonly SubagentView[]): Node[] {
  const children = subagents.filter((one) => one.parent === parent);
  return children.map((child) => ({ ...child, children: nodesBelow(child.session, subagents) }));
}

function draw(roots: readonly Root[], options: { style: Style; now: number; width: number }): string[] {
  const { style, now, width } = options;
  const header = ["SESSION", "STATUS", "AGENT", "RUN", "TIME", "TASK"].map(
    (text): Cell => ({ text, paint: style.dim }),
  );
  const rows = roots.flatMap((root): Cell[][] => [
    [
      { text: sessionLabel(root), paint: style.cyan },
      { text: root.state },
      { text: root.agent },
      { text: "" },
      { text: duration((root.closed_at ?? now) - root.created_at) },
      { text: root.error ?? root.title },
    ],
    ...branches(root.children, style, "", now),
  ]);
  return columns(header, rows, width);
}

function branches(nodes: readonly Node[], style: Style, indent: string, now: number): Cell[][] {
  return nodes.flatMap((node, index) => {
    const last = index === nodes.length - 1;
    const row: Cell[] = [
      { text: `${indent}${last ? "└─" : "├─"} ${node.label} (${node.handle})` },
      { text: node.status, paint: statusPaint(node, style) },
      { text: node.agent },
      { text: node.run_id, paint: style.dim },
      { text: duration((node.ended_at ?? now) - node.created_at) },
      { text: node.error ?? node.result ?? node.task, paint: style.dim },
    ];
    return [row, ...branches(node.children, style, `${indent}${last ? "   " : "│  "}`, now)];
  });
}

function statusPaint({ status }: Node, style: Style): (text: string) => string {
  if (status === "running") return style.green;
  return status === "done" ? style.dim : style.yellow;
}
