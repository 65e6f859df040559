/** An ask with everything that a person must see before answering, and its answers. */

import type { Ask } from "@aegis/contract/ask.ts";
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { oneLine, visible } from "../model/format.ts";
import { Problem } from "./facts.tsx";
import { LazyDiff } from "./lazy-diff.tsx";

const words: Readonly<Record<string, string>> = { allow: "Allow", always: "Allow for session", deny: "Deny" };

export function AskForm({ ask }: { ask: Ask }) {
  const action = useAction();
  const text = useMemo(() => signal(""), [ask.id]);
  const answer = (choice: string | null) =>
    action.run(() =>
      client.call("answerAsk", {
        path: { ask: ask.id },
        // The digest is that of what is shown here: a different action is not approved.
        body: { choice, text: text.peek(), digest: ask.digest, via: "web" },
      }),
    );
  const isFree = ask.options.length === 0;
  const id = `ask-${ask.id}`;
  return (
    <form
      class="ask"
      aria-label={`Ask: ${oneLine(ask.question, 80)}`}
      onSubmit={(event) => {
        event.preventDefault();
        if (isFree) void answer(null);
      }}
    >
      <p class="question">{visible(ask.question)}</p>
      {ask.reason === null ? null : <p class="dim">{visible(ask.reason)}</p>}
      <Detail ask={ask} />
      {ask.changes.map((change) => (
        <LazyDiff
          key={change.path}
          path={change.path}
          before={change.before}
          after={change.after}
          patch={change.patch}
          note={change.note}
          open
        />
      ))}
      {ask.omitted > 0 ? <p class="warn">{ask.omitted} characters of the action are not shown.</p> : null}
      {isFree ? (
        <textarea
          id={id}
          aria-label="Your answer"
          placeholder="Your answer"
          rows={2}
          value={text}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      ) : null}
      <div class="buttons">
        {isFree ? (
          <button type="submit" class="primary" disabled={action.busy.value || text.value.trim() === ""}>
            Answer
          </button>
        ) : (
          ask.options.map((option, index) => (
            <button
              key={option}
              type="button"
              class={index === 0 ? "primary" : option === "deny" ? "danger" : ""}
              disabled={action.busy.value}
              onClick={() => void answer(option)}
            >
              {ask.kind === "permission" ? (words[option] ?? option) : visible(option)}
            </button>
          ))
        )}
      </div>
      <Problem text={action.problem.value} />
    </form>
  );
}

function Detail({ ask }: { ask: Ask }) {
  const shown = detailText(ask);
  if (shown === "" && ask.tool === null) return null;
  return (
    <div class="detail">
      {ask.tool === null ? null : (
        <p class="mono dim cut">
          {visible(ask.tool)}
          {ask.cwd === null ? "" : ` in ${visible(ask.cwd)}`}
        </p>
      )}
      {shown === "" ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <pre tabIndex={0}>{visible(shown)}</pre>
      )}
    </div>
  );
}

/** A command is shown as it would run; everything else as JSON. */
function detailText({ detail }: Ask): string {
  if (detail === null || detail === undefined) return "";
  if (typeof detail === "string") return detail;
  const fields = Object.entries(detail as Record<string, unknown>);
  if (fields.length === 0) return "";
  const [only] = fields;
  if (fields.length === 1 && only !== undefined && typeof only[1] === "string") return only[1];
  return JSON.stringify(detail, null, 2);
}
