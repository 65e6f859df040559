/** Parts of pages that show tables and details. */
import type { ComponentChildren } from "preact";
import { useAction } from "../app/busy.ts";
import { Empty, Problem } from "./facts.tsx";

export function Page(props: { title: string; tools?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="page">
      <header class="page-head">
        <h1>{props.title}</h1>
        {props.tools === undefined ? null : <div class="buttons">{props.tools}</div>}
      </header>
      <div class="page-body">{props.children}</div>
    </div>
  );
}

export type TableColumn<T> = { name: string; cell: (row: T) => ComponentChildren; wide?: boolean; number?: boolean };

export function Table<T>(props: {
  label: string;
  rows: readonly T[];
  columns: readonly TableColumn<T>[];
  keyOf: (row: T) => string;
  empty: ComponentChildren;
}) {
  const { rows, columns } = props;
  if (rows.length === 0) return <Empty>{props.empty}</Empty>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table" tabIndex={0} aria-label={props.label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={props.keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)} data-name={column.name}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function classOf(column: { wide?: boolean; number?: boolean }): string {
  return `${column.wide === true ? "wide-cell" : ""} ${column.number === true ? "right" : ""}`.trim();
}

/** A button for one request; the problem is shown beside it. */
export function ActionButton(props: {
  label: string;
  work: () => Promise<unknown>;
  kind?: "primary" | "danger" | "plain";
  done?: () => void;
}) {
  const action = useAction();
  return (
    <>
      <button
        type="button"
        class={props.kind ?? ""}
        disabled={action.busy.value}
        onClick={() => void action.run(props.work).then((worked) => worked && props.done?.())}
      >
        {props.label}
      </button>
      <Problem text={action.problem.value} />
    </>
  );
}

const good = new Set(["ok", "completed", "ready", "loaded", "on", "done"]);
const bad = new Set(["error", "failed", "lost", "timeout", "killed"]);
const active = new Set(["running", "dispatched", "working", "claimed"]);

/** A status as a word with its colour. */
export function StatusWord({ status }: { status: string }) {
  const kind = good.has(status) ? "ok" : bad.has(status) ? "err" : active.has(status) ? "active" : "dim";
  return <span class={`status ${kind}`}>{status}</span>;
}
