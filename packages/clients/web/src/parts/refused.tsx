/** A package that was refused as malicious: its findings, and the override of a person who types the rules. */
import { useState } from "preact/hooks";
import type { ConsentChange } from "../app/consent.ts";
import type { RefusedAnswer } from "../app/refusal.ts";
import { oneLine, visible } from "../model/format.ts";
import { Findings } from "./consent.tsx";

export function Refused({
  answer,
  change,
}: {
  answer: RefusedAnswer;
  change: Pick<ConsentChange<unknown>, "action" | "confirm" | "cancel">;
}) {
  const { overridable, findings } = answer.refused;
  const [text, setText] = useState("");
  const typed = text.split(/[\s,]+/).filter((word) => word !== "");
  const rules = overridable?.rules ?? [];
  const namesAll = rules.length > 0 && rules.every((rule) => typed.includes(rule));
  return (
    <section class="consent" aria-label="Refused">
      <h2 class="err">{oneLine(answer.message, 300)}</h2>
      <Findings findings={findings} />
      {rules.length === 0 ? null : (
        <label class="inline">
          If you have read these lines, type {visible(rules.join(" "))} to install it anyway:
          <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
      )}
      <div class="buttons">
        {rules.length === 0 ? null : (
          <button
            type="button"
            class="danger"
            disabled={!namesAll || change.action.busy.value}
            onClick={() => change.confirm(typed)}
          >
            Install it anyway
          </button>
        )}
        <button type="button" onClick={change.cancel}>
          Cancel
        </button>
      </div>
    </section>
  );
}
