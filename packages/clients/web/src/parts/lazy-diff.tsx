/** The change to one file. The code that computes it is loaded when the first one is opened. */
import { useEffect, useState } from "preact/hooks";
import { visible } from "../model/format.ts";
import type { DiffBody } from "./diff-body.tsx";

export type FileChange = {
  path: string;
  before: string | null;
  after: string | null;
  patch?: string | null;
  note?: string | null;
};

export function LazyDiff({ open = false, ...change }: FileChange & { open?: boolean }) {
  const [shown, setShown] = useState(open);
  const [body, setBody] = useState<{ view: typeof DiffBody } | null>(null);
  useEffect(() => {
    if (!shown || body !== null) return;
    let gone = false;
    void import("./diff-body.tsx").then((it) => gone || setBody({ view: it.DiffBody }));
    return () => {
      gone = true;
    };
  }, [shown, body]);
  return (
    <details class="diff" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        <span class="mono cut">{visible(change.path)}</span>
        <span class="dim">
          {change.after === null && !change.patch ? "deleted" : change.before === null ? "new" : ""}
        </span>
      </summary>
      {change.note ? <p class="dim note">{visible(change.note)}</p> : null}
      {body === null || !shown ? null : <body.view {...change} />}
    </details>
  );
}
