import type { ComponentChildren } from "preact";
import { status } from "../app/store.ts";
import { oneLine, visible } from "../model/format.ts";

export type Diagnostic = { message: string; level?: string; file?: string | null; line?: number | null };

/** Problems of files, each with its place and, if there is one, what to do about it. */
export function Diagnostics<T extends Diagnostic>(props: {
  found: readonly T[];
  action?: (one: T) => ComponentChildren;
}) {
  if (props.found.length === 0) return null;
  return (
    <ul class="problems" aria-label="Problems">
      {props.found.map((one, index) => (
        <li key={index} class={one.level === "error" ? "err" : "warn"}>
          {one.file == null ? "" : `${shownFile(one.file)}${one.line == null ? "" : `:${one.line}`} `}
          {oneLine(one.message, 240)} {props.action?.(one)}
        </li>
      ))}
    </ul>
  );
}

/** A file of the project by its path in the project. */
export function shownFile(file: string): string {
  const root = `${status.value?.project ?? ""}/`;
  return visible(root.length > 1 && file.startsWith(root) ? file.slice(root.length) : file);
}

/** A list of names and values. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="fact-list">
      {facts
        .filter(([, value]) => value !== null && value !== "" && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
