/** Sessions as aligned columns: what each works on, then who, then the handle to name it in a command. */
import type { SessionView } from "@aegis/contract/session.ts";
import { mostUnseen } from "@aegis/contract/unseen.ts";
import { type Cell, type TableOptions, table } from "./columns.ts";
import type { Style } from "./style.ts";
import { oneLine } from "./text.ts";
import { relativeTime } from "./time.ts";
import { contextText, costText, tokensText } from "./usage.ts";

/** `lost` names the nodes whose sessions are away. The nodes of sessions are shown only in a cluster. */
export function sessionTable(
  sessions: readonly SessionView[],
  options: TableOptions,
  lost: ReadonlySet<string> = new Set(),
): string[] {
  const { style } = options;
  const hasNodes = sessions.some(({ node }) => node !== undefined);
  const titles = [
    { text: "TITLE", flexible: true as const },
    ...["AGENT", ...(hasNodes ? ["NODE"] : []), "STATE"],
    { text: "WAITING", spare: 2 },
    { text: "UNREAD", spare: 1 },
    { text: "TOKENS", spare: 5 },
    { text: "COST", spare: 0 },
    { text: "CONTEXT", spare: 4 },
    { text: "STARTED", spare: 3 },
    "SESSION",
  ];
  return table(options, titles, sessions, (session) => [
    titleCell(session, style),
    agentText(session),
    ...(hasNodes ? [nodeCell(session, lost, style)] : []),
    { text: stateText(session), paint: statePaint(session, style) },
    session.pending === 0 ? "-" : String(session.pending),
    unseenText(session.unseen),
    tokensText(session.usage),
    costText(session.usage),
    contextText(session.context),
    relativeTime(session.created_at, options.now),
    { text: session.handle, paint: style.dim },
  ]);
}

function titleCell({ title }: SessionView, style: Style): Cell {
  return title === "" ? { text: "-", paint: style.dim } : { text: title, paint: style.bold };
}

/** The agent and the program that runs it, unless the agent has its name. */
export function agentText({ agent, harness, offline }: Pick<SessionView, "agent" | "harness" | "offline">): string {
  if (offline) return `${agent} (offline)`;
  return agent === harness || harness.startsWith(`${agent}-`) ? agent : `${agent} (${harness})`;
}

function nodeCell({ node = "-", state }: SessionView, lost: ReadonlySet<string>, style: Style): Cell {
  const isAway = lost.has(node) && state !== "closed";
  return isAway ? { text: `${node} (away)`, paint: style.yellow } : { text: node };
}

/** First whether the session waits for a person, then whether its agent is missing, then its state. */
export function stateText(
  session: Pick<SessionView, "state" | "needs_you"> & Partial<Pick<SessionView, "agent_problem">>,
): string {
  if (session.needs_you !== null) return "needs you";
  return isAgentGone(session) ? "no agent" : session.state;
}

/** Errors, and the problem of sessions whose agent is missing: a column has no room for them. */
export function problemLines(sessions: readonly SessionView[]): string[] {
  return sessions.flatMap((session) => {
    const { handle, agent_problem, error } = session;
    if (isAgentGone(session)) return [`${handle}: ${agent_problem} (aegis close ${handle})`];
    return error === null ? [] : [`${handle}: ${oneLine(error)}`];
  });
}

/** An older daemon does not send this field. */
function isAgentGone({ agent_problem }: Partial<Pick<SessionView, "agent_problem">>): boolean {
  return (agent_problem ?? null) !== null;
}

function statePaint(session: SessionView, style: Style): (text: string) => string {
  if (session.needs_you !== null) return style.yellow;
  if (session.state === "working") return style.green;
  if (session.state === "error" || isAgentGone(session)) return style.red;
  return session.state === "closed" ? style.dim : (text) => text;
}

function unseenText(count: number): string {
  if (count === 0) return "-";
  return count < mostUnseen ? String(count) : `${count}+`;
}
