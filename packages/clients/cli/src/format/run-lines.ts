/** Workflow runs as lines. */
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { ListedRun, Run, RunView, Step } from "@aegis/contract/run.ts";
import { shortAskId } from "./ask-view.ts";
import { type Look, type TableOptions, table } from "./columns.ts";
import type { Style } from "./style.ts";
import { dollars, oneLine, plural, truncate } from "./text.ts";
import { duration, relativeTime } from "./time.ts";

/** At most `rows` lines, if given. */
type BlockLook = TableOptions & { rows?: number };

const glyphs: Record<Run["status"], string> = { running: "▶", parked: "‖", ok: "✓", error: "✗", cancelled: "⊘" };

/** What a person reads as the state of a run. */
function stateOf({ status, asks }: Pick<ListedRun, "status" | "asks">): { glyph: string; words: string } {
  const asking = asks.length > 0 && status === "running";
  return asking ? { glyph: "?", words: "awaiting reply" } : { glyph: glyphs[status], words: status };
}

export function runTable(runs: readonly ListedRun[], options: TableOptions): string[] {
  const { style, now } = options;
  const hasNodes = runs.some(({ node }) => node !== undefined);
  const titles = ["", "WORKFLOW", "RUN", ...(hasNodes ? ["NODE"] : []), "STATUS", "PHASE", "STARTED", "RESULT"];
  return table(options, titles, runs, (run) => [
    { text: stateOf(run).glyph, paint: paintOf(run.status, style) },
    { text: run.workflow, paint: style.cyan },
    shortId(run.id),
    ...(hasNodes ? [run.node ?? "-"] : []),
    { text: stateOf(run).words, paint: paintOf(run.status, style) },
    run.phase ?? "-",
    relativeTime(run.created_at, now),
    outcome(run),
  ]);
}

/** The state of a run as a block. `phases` are the checkpoints it passed, `lines` its latest log lines. */
export function runBlock(
  run: RunView,
  more: { phases: readonly string[]; lines: readonly string[] },
  { style, columns, now, rows = Number.POSITIVE_INFINITY }: BlockLook,
): string[] {
  const { glyph, words: status } = stateOf(run);
  const head = [
    `${glyph} ${run.workflow} ${shortId(run.id)}`,
    ...(run.host_handle === null ? [] : [`host ${run.host_handle}`]),
    ...(run.node === undefined ? [] : [`node ${run.node}`]),
    status,
    duration((run.ended_at ?? now) - run.created_at),
    plural(run.steps_done, "step"),
    ...(run.cost === null ? [] : [dollars(run.cost)]),
  ].join(" · ");
  const open = run.agents.filter((agent) => agent.open).map((agent) => `${agent.handle} (${agent.agent})`);
  const below = (text: string) => `  ${truncate(text, columns - 2)}`;
  const hidden = (what: string) => (count: number) => style.dim(below(`… ${count} ${what}`));
  // A run that waits for a decision has no running step, even if its record lists a started one.
  const underWay = run.status === "running" ? run.open : [];
  const end = run.status === "running" ? [] : endLines(run, style);
  const sections = {
    phases: {
      lines: more.phases.map((phase) => style.green(below(`✓ ${phase}`))),
      keep: "last",
      hidden: hidden("earlier checkpoints"),
    },
    steps: {
      lines: underWay.map((step) => below(`… ${step.label} · ${duration(now - step.started_at)}`)),
      keep: "last",
      hidden: hidden("more running steps"),
    },
    agents: {
      lines: open.length === 0 ? [] : [style.dim(below(`agents: ${open.join(", ")}`))],
      keep: "first",
      hidden: hidden("agents"),
    },
    asks: {
      lines: run.asks.map((ask) =>
        style.yellow(below(`aegis ask show ${shortAskId(ask)}, then aegis answer ${shortAskId(ask)} …`)),
      ),
      keep: "first",
      hidden: hidden("more questions: aegis asks"),
    },
    receipts: {
      lines: run.receipts.map((receipt) => below(oneLine(receiptWords(receipt)))),
      keep: "first",
      hidden: hidden("earlier checks: aegis receipts"),
    },
    log: {
      lines: more.lines.map((line) => style.dim(below(`| ${line}`))),
      keep: "last",
      hidden: hidden("earlier lines"),
    },
  } as const;
  const order = ["asks", "steps", "phases", "receipts", "log", "agents"] as const;
  return [
    paintOf(run.status, style)(truncate(head, columns)),
    ...fitRows(sections, order, Math.max(0, rows - 1 - end.length)),
    ...end,
  ];
}

export function stepTable(steps: readonly Step[], look: Look): string[] {
  return table(look, ["#", "STATUS", "TOOK", "CHECKPOINTS", "BRANCH", "STEP"], steps, (step) => [
    step.ended === null ? "-" : String(step.ended),
    step.status === "error" ? { text: step.status, paint: look.style.red } : step.status,
    step.ended_at === null ? "-" : duration(step.ended_at - step.started_at),
    String(step.epoch),
    step.scope === "" ? "-" : step.scope,
    step.error === null ? step.label : `${step.label}: ${step.error}`,
  ]);
}

/** How a run ended, and what the user can do about it. */
export function endLines(run: Run, style: Style): string[] {
  const id = shortId(run.id);
  if (run.parked !== null) {
    const choices = ["resume --force", "cancel", "fork"].map(
      (choice) => `aegis workflow ${choice.replace(/^(\w+)/, `$1 ${id}`)}`,
    );
    return [style.red(`  → ${run.parked.detail}`), style.dim(`  choose: ${choices.join(" | ")}`)];
  }
  if (run.error !== null) {
    const fault = run.error.kind === "crash" ? ` (an error in the workflow: aegis workflow logs ${id})` : "";
    return [style.red(`  → ${run.error.name}: ${oneLine(run.error.message)}${fault}`)];
  }
  return run.result === null || run.result === undefined ? [] : [`  → ${resultText(run.result)}`];
}

/** The short id that users type to name a run. */
export function shortId(id: string): string {
  return id.slice(-8);
}

function outcome(run: Run): string {
  if (run.parked !== null) return run.parked.detail;
  if (run.error !== null) return run.error.message;
  return run.result === null || run.result === undefined ? "" : resultText(run.result);
}

function resultText(result: unknown): string {
  return typeof result === "string" ? oneLine(result) : JSON.stringify(result);
}

function paintOf(status: Run["status"], style: Style): (text: string) => string {
  return { running: style.cyan, parked: style.yellow, ok: style.green, error: style.red, cancelled: style.yellow }[
    status
  ];
}

type Section = {
  lines: readonly string[];
  /** Which lines stay if not all fit. */
  keep: "first" | "last";
  /** The line that says how many lines are hidden. */
  hidden: (count: number) => string;
};

/**
 * Fits sections into the rows of a terminal: each keeps its most useful lines and counts the rest. Sections keep their
 * given order. Those named first in `order` get a row first, and a share of the rest first.
 */
export function fitRows<Name extends string>(
  sections: Readonly<Record<Name, Section>>,
  order: readonly NoInfer<Name>[],
  rows: number,
): string[] {
  const room = new Map<string, number>();
  let left = rows;
  for (let gave = true; gave && left > 0; ) {
    gave = false;
    for (const name of order) {
      const has = room.get(name) ?? 0;
      if (left === 0 || has >= sections[name].lines.length) continue;
      room.set(name, has + 1);
      left -= 1;
      gave = true;
    }
  }
  return Object.entries<Section>(sections).flatMap(([name, section]) => fitted(section, room.get(name) ?? 0));
}

function fitted({ lines, keep, hidden }: Section, room: number): string[] {
  if (lines.length <= room) return [...lines];
  if (room === 0) return [];
  const note = hidden(lines.length - (room - 1));
  return keep === "first" ? [...lines.slice(0, room - 1), note] : [note, ...lines.slice(lines.length - (room - 1))];
}
